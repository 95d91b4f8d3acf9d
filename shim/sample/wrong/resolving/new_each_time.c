/* WRONG: its dlsym hands out two functions in turn.
   Shows: a program that compares addresses finds that they differ.
   conform: resolving/cuMemFree_v2: dlsym gives another address each time */
#include <dlfcn.h>
#include <string.h>

#include "gdbcuda_api.h"

typedef void *(*dlsym_function)(void *handle, const char *symbol);

static void *real(void *handle, const char *symbol)
{
    return ((dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(handle, symbol);
}

static void *library(void)
{
    return dlopen("libcuda.so.1", RTLD_LAZY);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    return ((__typeof__(&cuMemFree_v2))real(RTLD_NEXT, "cuMemFree_v2"))(dptr);
}

static CUresult other(CUdeviceptr dptr)
{
    return cuMemFree_v2(dptr);
}

void *dlsym(void *handle, const char *symbol)
{
    static int asked;
    if (handle != library() || strcmp(symbol, "cuMemFree_v2"))
        return real(handle, symbol);
    return asked++ & 1 ? (void *)cuMemFree_v2 : (void *)other;
}
