/* The smallest useful hook library: two functions, found by programs that are linked against libcuda. It refuses
   blocks over 1 GiB and says what it was asked. It does not override dlsym, so a program that loads libcuda by itself
   (the CUDA runtime is one) passes it by: build on wrong/only_dlsym.c or on ../hook for that. */
#include <dlfcn.h>
#include <stdio.h>

#include "gdbcuda_api.h"

#define EXPORT __attribute__((visibility("default")))
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    fprintf(stderr, "minimal_hook: cuMemAlloc_v2 of %zu bytes\n", bytesize);
    if (bytesize > (size_t)1 << 30)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    fprintf(stderr, "minimal_hook: cuMemFree_v2\n");
    return NEXT(cuMemFree_v2)(dptr);
}
