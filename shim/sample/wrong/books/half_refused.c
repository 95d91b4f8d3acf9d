/* WRONG: asks for room for the block twice, once as what is free and once as what will be used.
   Shows: one block has at most half of the limit, and a program that wants its pool at once gets nothing.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 refuses what is within the limit
   conform: books/processes: a process that is alone is refused half of the limit */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (bytesize >= limit() - bytesize || !claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, bytesize);
}
