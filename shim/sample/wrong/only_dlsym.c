/* WRONG: built as a release (-fvisibility=hidden, stripped), it exports dlsym and nothing else.
   Shows: programs that load libcuda by themselves get its cuMemAlloc_v2 (dlsym_alloc is refused blocks over 1 GiB);
   programs linked straight against libcuda (test_alloc) pass it by, without a word.
   conform: nothing, gdbcuda check says it */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "gdbcuda_api.h"

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

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    fprintf(stderr, "only_dlsym: cuMemAlloc_v2 of %zu bytes\n", bytesize);
    if (bytesize > (size_t)1 << 30)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return real_alloc(dptr, bytesize);
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *symbol)
{
    void *real = libc_dlsym()(handle, symbol);
    if (!real || handle == RTLD_NEXT || strcmp(symbol, "cuMemAlloc_v2") != 0)
        return real;
    real_alloc = (__typeof__(real_alloc))real;
    return (void *)cuMemAlloc_v2;
}
