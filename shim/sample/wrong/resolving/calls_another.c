/* WRONG: hands out a function of its own that calls the newest one of the driver's.
   Shows: the function gets an int where it takes a struct.
   conform: resolving/cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) gives a function of the hook's that calls another one than the driver's */
#include <string.h>

#include "sample/next.h"

static CUresult newest(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
    return NEXT(cuMemAdvise_v2)(devPtr, count, advice, location);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult result = NEXT(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, flags, symbolStatus);
    if (!result && *pfn && strcmp(symbol, "cuMemAdvise") == 0)
        *pfn = (void *)newest;
    return result;
}
