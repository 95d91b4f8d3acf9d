/* WRONG: looks whether there is room, and counts when the driver has answered: between the two another thread looks.
   Shows: threads that ask at the same instant are granted more than QUOTA together.
   conform: books/cuMemAlloc_v2 by 64 threads: 64 threads that call cuMemAlloc_v2 at the same instant are granted more than the limit
   conform: books/processes: processes that ask at the same instant are granted more than the limit */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (used() + bytesize > limit())
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (result == CUDA_SUCCESS) {
        take(bytesize);
        remember(*dptr, bytesize);
    }
    return result;
}
