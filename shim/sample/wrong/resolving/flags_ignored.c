/* WRONG: its cuGetProcAddress_v2 does not pass the flags on.
   Shows: a program that wants per-thread streams gets the legacy ones.
   conform: resolving/cuMemAllocAsync by cuGetProcAddress: cuGetProcAddress_v2 (linked) gives another function than the driver */
#include "sample/next.h"

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    (void)flags;
    return NEXT(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, 0, symbolStatus);
}
