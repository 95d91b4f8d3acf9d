/* Graphs and stream capture: the driver's. Parameters of nodes have its layout. */
#include "runtime.h"

RUNTIME(cudaStreamBeginCapture)(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return FROM_DRIVER(driver.cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode));
}

RUNTIME(cudaStreamEndCapture)(cudaStream_t stream, cudaGraph_t *pGraph)
{
    return FROM_DRIVER(driver.cuStreamEndCapture(stream, pGraph));
}

RUNTIME_INIT(cudaGraphCreate)(cudaGraph_t *pGraph, unsigned int flags)
{
    return FROM_DRIVER(driver.cuGraphCreate(pGraph, flags));
}

RUNTIME_INIT(cudaGraphDestroy)(cudaGraph_t graph)
{
    return FROM_DRIVER(driver.cuGraphDestroy(graph));
}

RUNTIME_INIT(cudaGraphAddEmptyNode)(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t *pDependencies, size_t numDependencies)
{
    return FROM_DRIVER(driver.cuGraphAddEmptyNode(pGraphNode, graph, pDependencies, numDependencies));
}

RUNTIME_INIT(cudaGraphAddMemAllocNode)(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                       struct cudaMemAllocNodeParams *nodeParams)
{
    return FROM_DRIVER(driver.cuGraphAddMemAllocNode(pGraphNode, graph, pDependencies, numDependencies,
                                                     (CUDA_MEM_ALLOC_NODE_PARAMS *)nodeParams));
}

RUNTIME_INIT(cudaGraphAddMemFreeNode)(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
    return FROM_DRIVER(driver.cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies,
                                                    (CUdeviceptr)dptr));
}

RUNTIME_INIT(cudaGraphGetNodes)(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    return FROM_DRIVER(driver.cuGraphGetNodes(graph, nodes, numNodes));
}

RUNTIME_INIT(cudaGraphNodeGetType)(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
    return FROM_DRIVER(driver.cuGraphNodeGetType(node, (CUgraphNodeType *)pType));
}

RUNTIME_INIT(cudaGraphMemAllocNodeGetParams)(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out)
{
    return FROM_DRIVER(driver.cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params_out));
}

RUNTIME_INIT(cudaGraphMemFreeNodeGetParams)(cudaGraphNode_t node, void *dptr_out)
{
    return FROM_DRIVER(driver.cuGraphMemFreeNodeGetParams(node, dptr_out));
}

RUNTIME(cudaGraphInstantiate)(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    return FROM_DRIVER(driver.cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

RUNTIME(cudaGraphInstantiateWithFlags)(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    return FROM_DRIVER(driver.cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

RUNTIME(cudaGraphLaunch)(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    return FROM_DRIVER(driver.cuGraphLaunch(graphExec, stream));
}

RUNTIME_INIT(cudaGraphExecDestroy)(cudaGraphExec_t graphExec)
{
    return FROM_DRIVER(driver.cuGraphExecDestroy(graphExec));
}

RUNTIME_INIT(cudaDeviceGraphMemTrim)(int device)
{
    return FROM_DRIVER(driver.cuDeviceGraphMemTrim(device));
}

RUNTIME_INIT(cudaDeviceGetGraphMemAttribute)(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    return FROM_DRIVER(driver.cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

RUNTIME_INIT(cudaDeviceSetGraphMemAttribute)(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    return FROM_DRIVER(driver.cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}
