/* WRONG: counts what a graph will allocate when its node is added, and knows no graph's end.
   Shows: a program that makes graphs again and again is refused memory that nobody has.
   conform: books/cuGraphAddMemAllocNode: all is given back, and cuMemGetInfo_v2 does not return to the start */
#include "sample/quota.h"

EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                       size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    size_t bytes = nodeParams ? nodeParams->bytesize : 0;
    if (!claim(bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuGraphAddMemAllocNode)(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
    if (result != CUDA_SUCCESS)
        give_back(bytes);
    return result;
}
