/* WRONG: looks for the driver's function with RTLD_NEXT only, and never checks that it found one.
   Shows: test_alloc, linked against libcuda, works; dlsym_alloc, which loads libcuda by itself, crashes with a jump to
   address 0: RTLD_NEXT sees what the program was started with, not what was loaded since.
   conform: resolving/API names in other libraries: API functions are found in libc.so.6
   conform: resolving/API names in other libraries: API functions are found in libm.so.6 */
#include <dlfcn.h>
#include <string.h>

#include "gdbcuda_api.h"

typedef void *(*dlsym_function)(void *handle, const char *symbol);

static dlsym_function libc_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *found = NULL;
    for (int i = 0; i < 3 && !found; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return (dlsym_function)found;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    __typeof__(&cuMemAlloc_v2) real = (__typeof__(real))libc_dlsym()(RTLD_NEXT, "cuMemAlloc_v2");
    return real(dptr, bytesize);
}

void *dlsym(void *handle, const char *symbol)
{
    if (strcmp(symbol, "cuMemAlloc_v2") == 0)
        return (void *)cuMemAlloc_v2;
    return libc_dlsym()(handle, symbol);
}
