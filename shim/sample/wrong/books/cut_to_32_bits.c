/* WRONG: has 32 bits for a size.
   Shows: 4 GiB and a bit more are counted as the bit, and granted under each limit.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 grants more than the limit */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    unsigned bytes = (unsigned)bytesize;
    if (!claim(bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, bytes);
}
