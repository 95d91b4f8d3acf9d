/* WRONG: gives back the size of the block that was got first, whichever is freed.
   Shows: of blocks of several sizes the numbers are right when all are freed, and wrong until then. So that nothing else
   is wrong, the other ways to free a block are known, and a context of the program's own is refused, and a reset.
   conform: books/random: cuMemFree_v2 gives back a block, and cuMemGetInfo_v2 does not go back by what it has taken */
#define OWN_FREE
#include "sample/quota.h"

static void swap_sizes(uint64_t address)
{
    int own = -1, first = -1;
    lock_blocks();
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (blocks[i].bytes) {
            own = blocks[i].address == address ? i : own;
            first = first < 0 || blocks[i].address < blocks[first].address ? i : first;
        }
    if (own >= 0) {
        size_t bytes = blocks[own].bytes;
        blocks[own].bytes = blocks[first].bytes;
        blocks[first].bytes = bytes;
    }
    unlock_blocks();
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    swap_sizes(dptr);
    size_t bytes = forget(dptr);
    return released(NEXT(cuMemFree_v2)(dptr), dptr, bytes);
}

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
