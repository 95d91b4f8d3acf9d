/* WRONG: its dlvsym answers with another function than its dlsym.
   Shows: a program that asks for cudaFree with a version gets one that frees memory of the host.
   conform: resolving/cudaFree: dlvsym gives the hook library's function of another name
   conform: resolving/cudaFree: dlvsym(RTLD_DEFAULT) gives the hook library's function of another name */
#include <string.h>

#include "sample/next.h"

static void *next_dlvsym(void *handle, const char *symbol, const char *version)
{
    void *(*next)(void *, const char *, const char *) = (__typeof__(next))dlsym(RTLD_NEXT, "dlvsym");
    return next(handle, symbol, version);
}

cudaError_t cudaFreeHost(void *ptr)
{
    return NEXT(cudaFreeHost)(ptr);
}

void *dlvsym(void *handle, const char *symbol, const char *version)
{
    if (strcmp(symbol, "cudaFree") == 0)
        return (void *)cudaFreeHost;
    return next_dlvsym(handle, symbol, version);
}
