/* WRONG: its dlsym looks at the name alone, not at the library in which it was asked for.
   Shows: a program that asks whether libm has a function of CUDA is told that it does.
   conform: resolving/API names in other libraries: API functions are found in libc.so.6
   conform: resolving/API names in other libraries: API functions are found in libm.so.6 */
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
    if (handle != RTLD_NEXT && strcmp(symbol, "cuMemFree_v2") == 0)
        return (void *)cuMemFree_v2;
    return real(handle, symbol);
}
