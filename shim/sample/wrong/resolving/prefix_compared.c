/* WRONG: its dlsym compares the first nine letters.
   Shows: who asks for cuMemFreeHost gets cuMemFree_v2.
   conform: resolving/cuMemFree: dlsym gives the hook library's function of another name
   conform: resolving/cuMemFree: dlsym(RTLD_DEFAULT) gives the hook library's function of another name
   conform: resolving/cuMemFreeHost: dlsym gives the hook library's function of another name
   conform: resolving/cuMemFreeHost: dlsym(RTLD_DEFAULT) gives the hook library's function of another name */
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
    if (handle != RTLD_NEXT && strncmp(symbol, "cuMemFree", 9) == 0)
        return (void *)cuMemFree_v2;
    return real(handle, symbol);
}
