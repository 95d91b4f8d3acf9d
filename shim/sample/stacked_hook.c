/* Built twice, as hook_first.so and hook_second.so: correct hook libraries to preload together, in either order. Each
   says on stderr when its cuMemAlloc_v2 is entered. Both override dlsym, and hand on to the *next* dlsym in search
   order, which is why it is looked up without a version: dlvsym(RTLD_NEXT, "dlsym", "GLIBC_...") would skip the
   other hook library, whose dlsym has no version, and land in libc. Linked with -Bsymbolic-functions: without it,
   `cuMemAlloc_v2` in the last line of the second one's dlsym would be the first one's, which would then call itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "gdbcuda_api.h"

#define EXPORT __attribute__((visibility("default")))

typedef void *(*dlsym_function)(void *handle, const char *symbol);

static __typeof__(&cuMemAlloc_v2) real_alloc;

static dlsym_function libc_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *found = NULL;
    for (int i = 0; i < 3 && !found; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return (dlsym_function)found;
}

static dlsym_function next_dlsym(void)
{
    return (dlsym_function)libc_dlsym()(RTLD_NEXT, "dlsym");
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    fprintf(stderr, HOOK_NAME ": cuMemAlloc_v2 of %zu bytes\n", bytesize);
    if (!real_alloc)
        real_alloc = (__typeof__(real_alloc))libc_dlsym()(RTLD_NEXT, "cuMemAlloc_v2");
    return real_alloc ? real_alloc(dptr, bytesize) : CUDA_ERROR_NOT_FOUND;
}

/* RTLD_NEXT and RTLD_DEFAULT are pseudo handles whose meaning depends on the caller; only real handles are answered. The
   rest is handed on in the caller's name, by a jump: rules.mk has the options. */
EXPORT void *dlsym(void *handle, const char *symbol)
{
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || strcmp(symbol, "cuMemAlloc_v2") != 0)
        return libc_dlsym()(handle, symbol);
    void *next = next_dlsym()(handle, symbol);
    if (!next)
        return NULL;
    real_alloc = (__typeof__(real_alloc))next;
    return (void *)cuMemAlloc_v2;
}
