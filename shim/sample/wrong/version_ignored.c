/* WRONG: its cuGetProcAddress_v2 ignores the version and the flags and answers with the newest suffix that it has.
   Shows: `echo cuMemAdvise 8000 0 | proc_address` gets cuMemAdvise_v2, which takes a CUmemLocation where the caller,
   who asked for the interface of CUDA 8.0, passes an int.
   conform: resolving/cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) gives another function than the driver
   conform: resolving/cuMemAdvise by cuGetProcAddress: cuGetProcAddress_v2 (linked) says otherwise than the driver whether there is such a function */
#include <dlfcn.h>
#include <stdio.h>

#include "gdbcuda_api.h"

static void *newest(const char *symbol)
{
    static const char *const suffixes[] = {"_v3", "_v2", ""};
    char name[256];
    void *found = NULL;
    for (int i = 0; i < 3 && !found; i++) {
        snprintf(name, sizeof name, "%s%s", symbol, suffixes[i]);
        found = dlsym(RTLD_NEXT, name);
    }
    return found;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    (void)cudaVersion, (void)flags;
    *pfn = newest(symbol);
    if (symbolStatus)
        *symbolStatus = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
