/* WRONG: says of what its limit does not allow that the argument is wrong.
   Shows: a program that frees its cache when memory is out, and tries again, ends instead.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 refuses what is beyond the limit, and not as out of memory */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result == CUDA_SUCCESS ? *dptr : 0, bytesize);
}
