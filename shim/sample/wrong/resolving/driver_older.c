/* WRONG: its dlsym answers with the driver's function of an older name.
   Shows: a program gets a function whose sizes have 32 bits.
   conform: resolving/cuMemFree_v2: dlsym gives another function than the driver's
   conform: resolving/cuMemFree_v2: dlsym(RTLD_DEFAULT) gives another function than the driver's
   conform: resolving/cuMemFree_v2: dlsym(RTLD_NEXT) gives another function than the driver's */
#include <dlfcn.h>
#include <string.h>

#include "gdbcuda_api.h"

typedef void *(*dlsym_function)(void *handle, const char *symbol);

static void *real(void *handle, const char *symbol)
{
    return ((dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(handle, symbol);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    return ((__typeof__(&cuMemGetInfo_v2))real(RTLD_NEXT, "cuMemGetInfo_v2"))(free, total);
}

void *dlsym(void *handle, const char *symbol)
{
    return real(handle, strcmp(symbol, "cuMemFree_v2") ? symbol : "cuMemFree");
}
