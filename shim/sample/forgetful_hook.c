/* A hook library that is wrong on purpose, and whose programs see nothing of it: it allocates a buffer for itself and
   forgets it, frees every block twice, and swallows fills. */
#include <dlfcn.h>

#include "gdbcuda_api.h"

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    static CUdeviceptr buffer;
    if (!buffer)
        NEXT(cuMemAlloc_v2)(&buffer, 65536);
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    NEXT(cuMemFree_v2)(dptr);
    return result;
}

CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    (void)dstDevice, (void)uc, (void)N;
    return CUDA_SUCCESS;
}
