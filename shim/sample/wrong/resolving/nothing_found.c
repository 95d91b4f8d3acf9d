/* WRONG: its dlsym says of a function that it has not wrapped that it is not there.
   Shows: programs take an older way, or say that the driver is too old.
   conform: resolving/cuMemAllocAsync: dlsym finds nothing, and the driver has it
   conform: resolving/cuMemAllocAsync: dlsym(RTLD_DEFAULT) finds nothing, and the driver has it
   conform: resolving/cuMemAllocAsync: dlsym(RTLD_NEXT) finds nothing, and the driver has it */
#include <dlfcn.h>
#include <string.h>

#include "gdbcuda_api.h"

typedef void *(*dlsym_function)(void *handle, const char *symbol);

static void *real(void *handle, const char *symbol)
{
    return ((dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(handle, symbol);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    return ((__typeof__(&cuMemFree_v2))real(RTLD_NEXT, "cuMemFree_v2"))(dptr);
}

void *dlsym(void *handle, const char *symbol)
{
    return strcmp(symbol, "cuMemAllocAsync") ? real(handle, symbol) : NULL;
}
