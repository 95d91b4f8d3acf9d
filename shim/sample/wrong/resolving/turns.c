/* WRONG: its cuGetProcAddress_v2 has two functions of one name, and hands them out in turn.
   Shows: a program that asks twice gets two addresses.
   conform: resolving/cuMemFree by cuGetProcAddress: another address each time */
#include <string.h>

#include "sample/next.h"

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    return NEXT(cuMemFree_v2)(dptr);
}

static CUresult other(CUdeviceptr dptr)
{
    return cuMemFree_v2(dptr);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    static int asked;
    CUresult result = NEXT(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, flags, symbolStatus);
    if (!result && *pfn && cudaVersion >= 3020 && strcmp(symbol, "cuMemFree") == 0)
        *pfn = asked++ & 1 ? (void *)cuMemFree_v2 : (void *)other;
    return result;
}
