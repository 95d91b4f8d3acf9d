/* WRONG: counts half of each block.
   Shows: a program has twice the limit.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 grants more than the limit */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize / 2))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, bytesize / 2);
}
