/* WRONG: grants a quarter of what it should.
   Shows: a program is refused memory that it may have.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 refuses what is within the limit */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (used() + bytesize > limit() / 4 || !claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, bytesize);
}
