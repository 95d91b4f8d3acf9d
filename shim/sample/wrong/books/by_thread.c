/* WRONG: keeps its blocks by thread.
   Shows: a block that another thread frees stays counted.
   conform: books/cuMemAlloc_v2 by 2 threads: 2 threads have given back what cuMemAlloc_v2 gave, and cuMemGetInfo_v2 does not return to the start */
#define OWN_ALLOC
#define OWN_FREE
#include "sample/quota.h"

static _Thread_local struct {
    CUdeviceptr address;
    size_t bytes;
} last;

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (result)
        give_back(bytesize);
    else
        last.address = *dptr, last.bytes = bytesize;
    return result;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    if (result == CUDA_SUCCESS && dptr && dptr == last.address) {
        give_back(last.bytes);
        last.address = 0;
    }
    return result;
}
