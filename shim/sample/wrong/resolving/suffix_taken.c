/* WRONG: its cuGetProcAddress knows its own functions by their symbols.
   Shows: a program that asks for cuMemAlloc_v2, which no driver finds, works here and nowhere else.
   conform: resolving/unknown names by cuGetProcAddress: cuGetProcAddress_v2 (linked) says otherwise than the driver whether there is such a function */
#include <string.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    if (!symbol || !pfn || strcmp(symbol, "cuMemAlloc_v2") != 0)
        return NEXT(cuGetProcAddress_v2)(symbol, pfn, cudaVersion, flags, symbolStatus);
    *pfn = (void *)cuMemAlloc_v2;
    if (symbolStatus)
        *symbolStatus = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}
