/* WRONG: says that half of what is used is free.
   Shows: cuMemGetInfo_v2 says that more is free than may be had.
   conform: books/cuMemAlloc_v2: after cuMemAlloc_v2 cuMemGetInfo_v2 does not count all that is held */
#define OWN_INFO
#include "sample/quota.h"

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    if (result == CUDA_SUCCESS) {
        *total = limit();
        *free = limit() - used() / 2;
    }
    return result;
}
