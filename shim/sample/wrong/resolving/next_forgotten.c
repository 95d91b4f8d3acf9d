/* WRONG: its dlsym keeps a list of names that it has answered with RTLD_NEXT, and answers each once.
   Shows: a library that wraps the same functions finds the driver behind itself once, and then nothing.
   conform: resolving/cuMemFree_v2: dlsym(RTLD_NEXT) finds nothing, and the driver has it
   conform: resolving/names of others: dlsym(RTLD_NEXT, malloc) is another than without the hook library */
#include <dlfcn.h>
#include <string.h>

#include "gdbcuda_api.h"

typedef void *(*dlsym_function)(void *handle, const char *symbol);

static void *real(void *handle, const char *symbol)
{
    return ((dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(handle, symbol);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return ((__typeof__(&cuMemAlloc_v2))real(RTLD_NEXT, "cuMemAlloc_v2"))(dptr, bytesize);
}

/* Shortened: the list is two names. */
void *dlsym(void *handle, const char *symbol)
{
    if (handle == RTLD_NEXT && (strcmp(symbol, "cuMemFree_v2") == 0 || strcmp(symbol, "malloc") == 0))
        return NULL;
    return real(handle, symbol);
}
