/* WRONG: is wrong in the function that its dlsym hands out, not in one that it exports.
   Shows: programs that load the driver by themselves get a byte more than they ask for.
   conform: transparent/cuMemAlloc_v2: argument bytesize is changed */
#include <dlfcn.h>
#include <string.h>

#include "gdbcuda_api.h"

typedef void *(*dlsym_function)(void *handle, const char *symbol);

static void *real(void *handle, const char *symbol)
{
    return ((dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(handle, symbol);
}

static CUresult allocate(CUdeviceptr *dptr, size_t bytesize)
{
    __typeof__(&cuMemAlloc_v2) next = (__typeof__(next))real(RTLD_NEXT, "cuMemAlloc_v2");
    return next(dptr, bytesize + 1);
}

void *dlsym(void *handle, const char *symbol)
{
    if (handle != RTLD_NEXT && strcmp(symbol, "cuMemAlloc_v2") == 0)
        return (void *)allocate;
    return real(handle, symbol);
}
