/* WRONG: has room for two blocks, and counts the third one all the same.
   Shows: a program that has three at a time never gets back what the third one took. So that nothing else is wrong, the
   other ways to free a block are known, and a context of the program's own is refused, and a reset.
   conform: books/random: cuMemFree_v2 gives back a block, and cuMemGetInfo_v2 does not go back by what it has taken */
#define MOST_BLOCKS 2
#include "sample/quota.h"

EXPORT CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    (void)hStream;
    return cuMemFree_v2(dptr);
}

EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    return cuMemFreeAsync(dptr, hStream);
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    (void)pctx, (void)flags, (void)dev;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    (void)dev;
    return CUDA_ERROR_NOT_SUPPORTED;
}
