/* WRONG: compares whole pages with its limit.
   Shows: a program has up to a page more than it may.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 grants more than the limit */
#define OWN_ALLOC
#include "sample/quota.h"

enum { PAGE = 4096 };

static bool claim_pages(size_t bytes)
{
    lock_region();
    bool granted = bytes <= SIZE_MAX / 2 && (used_by_all() + bytes) / PAGE <= limit() / PAGE;
    if (granted)
        own_share()->bytes += bytes;
    unlock_region();
    return granted;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim_pages(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, bytesize);
}
