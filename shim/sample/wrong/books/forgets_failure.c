/* WRONG: what the driver has refused stays counted.
   Shows: after a cuMemAlloc_v2 that fails, less is free than before, until nothing is left.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 fails, and changes how much cuMemGetInfo_v2 says is used
   conform: faults/a run with cuMemAlloc_v2: the driver refuses cuMemAlloc_v2: cuMemAlloc_v2 fails, and changes how much cuMemGetInfo_v2 says is used */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (result == CUDA_SUCCESS)
        remember(*dptr, bytesize);
    return result;
}
