/* WRONG: tells programs that the device is as large as the limit, and passes on what the driver says is free.
   Shows: cuMemGetInfo_v2 says that more is free than there is.
   conform: books/cuMemAlloc_v2: after cuMemAlloc_v2 cuMemGetInfo_v2 says that more is free than there is */
#define OWN_INFO
#include "sample/quota.h"

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    if (result == CUDA_SUCCESS && limit() < *total)
        *total = limit();
    return result;
}
