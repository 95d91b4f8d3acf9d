/* WRONG: counts whole MiB.
   Shows: a program has any number of smaller blocks.
   conform: books/cuMemAlloc_v2: after cuMemAlloc_v2 cuMemGetInfo_v2 does not count all that is held */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    size_t counts = bytesize >> 20 << 20;
    if (!claim(counts))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, counts);
}
