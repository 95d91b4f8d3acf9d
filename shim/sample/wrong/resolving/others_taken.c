/* WRONG: its dlsym answers for names that are none of CUDA's.
   Shows: who asks for malloc by name gets something else.
   conform: resolving/names of others: dlsym(RTLD_DEFAULT, malloc) is another than without the hook library
   conform: resolving/names of others: dlsym(libc.so.6, malloc) is another than without the hook library */
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
    if (handle != RTLD_NEXT && strcmp(symbol, "malloc") == 0)
        return (void *)cuMemFree_v2;
    return real(handle, symbol);
}
