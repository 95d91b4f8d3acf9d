/* WRONG: its dlvsym, for programs that name a version, does not look at the version.
   Shows: a program that asks for one which the driver does not have gets a function all the same.
   conform: resolving/cuMemFree_v2: dlvsym finds what the driver does not have
   conform: resolving/cuMemFree_v2: dlvsym(RTLD_DEFAULT) finds what the driver does not have */
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
    if (strcmp(symbol, "cuMemFree_v2") == 0)
        return (void *)cuMemFree_v2;
    return next_dlvsym(handle, symbol, version);
}
