/* WRONG: forgets a block after the driver has given it back, when another thread may have been given its address.
   Shows: a program whose threads allocate and free all the time has less and less of QUOTA.
   conform: books/cuMemAlloc_v2 by 8 threads: 8 threads have given back what cuMemAlloc_v2 gave, and cuMemGetInfo_v2 does not return to the start */
#define OWN_ALLOC
#define OWN_FREE
#include "sample/quota.h"

enum { PLACES = 1 << 16 };
static size_t bytes_at[PLACES];

static size_t *bytes_of(CUdeviceptr block)
{
    return &bytes_at[block / 512 % PLACES];
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (result == CUDA_SUCCESS)
        __atomic_store_n(bytes_of(*dptr), bytesize, __ATOMIC_SEQ_CST);
    else
        give_back(bytesize);
    return result;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    if (result == CUDA_SUCCESS)
        give_back(__atomic_exchange_n(bytes_of(dptr), 0, __ATOMIC_SEQ_CST));
    return result;
}
