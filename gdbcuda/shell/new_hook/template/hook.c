/* The functions of CUDA's driver that this library stands in for. Write one more: its prototype is in cuda.h, and it
   gets a line in hooks[], which resolve.c hands out to programs that ask for functions by name. */
#include "hook.h"

typedef int CUresult; /* or #include <cuda.h>, where you have it */
typedef unsigned long long CUdeviceptr;
enum { CUDA_ERROR_OUT_OF_MEMORY = 2 };

static const size_t LARGEST = (size_t)2 << 30;

/* allows no block above 2 GiB */
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (bytesize > LARGEST)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return DRIVERS(cuMemAlloc_v2)(dptr, bytesize);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    return DRIVERS(cuMemFree_v2)(dptr);
}

const struct hook hooks[] = {
    HOOK(cuMemAlloc_v2),
    HOOK(cuMemFree_v2),
    HOOK(cuGetProcAddress),
    HOOK(cuGetProcAddress_v2),
    {0},
};
