/* WRONG: reads its counter, and writes it a while later.
   Shows: what another thread has counted in between is lost.
   conform: books/cuMemAlloc_v2 by 8 threads: 8 threads have given back what cuMemAlloc_v2 gave, and cuMemGetInfo_v2 does not return to the start */
#define OWN_ALLOC
#define OWN_FREE
#define OWN_INFO
#include "sample/quota.h"

static volatile size_t told;

static void tell(size_t more)
{
    size_t before = told;
    usleep(100);
    told = before + more;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = counted(NEXT(cuMemAlloc_v2)(dptr, bytesize), *dptr, bytesize);
    tell(result ? 0 : bytesize);
    return result;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    size_t bytes = forget(dptr);
    give_back(bytes);
    tell(-bytes);
    return NEXT(cuMemFree_v2)(dptr);
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    *total = limit();
    *free = limit() - told;
    return result;
}
