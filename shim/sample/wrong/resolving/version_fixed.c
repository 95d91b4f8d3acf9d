/* WRONG: its cuGetProcAddress_v2 asks the driver for the newest version, whatever the program was built for.
   Shows: a program of CUDA 8 gets functions with other arguments.
   conform: resolving/cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) gives another function than the driver
   conform: resolving/cuMemAllocAsync by cuGetProcAddress: cuGetProcAddress_v2 (linked) says otherwise than the driver whether there is such a function
   conform: resolving/cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) says otherwise than the driver whether there is such a function */
#include "sample/next.h"

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    (void)cudaVersion;
    return NEXT(cuGetProcAddress_v2)(symbol, pfn, 13000, flags, symbolStatus);
}
