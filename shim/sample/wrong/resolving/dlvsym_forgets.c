/* WRONG: its dlvsym knows the names of the driver alone, and finds nothing in the runtime.
   Shows: a program that asks for cudaFree with a version is told that it is not there.
   conform: resolving/cudaFree: dlvsym finds nothing, and the driver has it
   conform: resolving/cudaFree: dlvsym(RTLD_DEFAULT) finds nothing, and the driver has it */
#include <string.h>

#include "sample/next.h"

static void *next_dlvsym(void *handle, const char *symbol, const char *version)
{
    void *(*next)(void *, const char *, const char *) = (__typeof__(next))dlsym(RTLD_NEXT, "dlvsym");
    return next(handle, symbol, version);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    return NEXT(cuMemFree_v2)(dptr);
}

void *dlvsym(void *handle, const char *symbol, const char *version)
{
    if (strncmp(symbol, "cuda", 4) == 0)
        return NULL;
    return next_dlvsym(handle, symbol, version);
}
