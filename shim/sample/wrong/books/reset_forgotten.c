/* WRONG: knows that a block ends with the context that it was made in, and not that a reset ends the primary one.
   Shows: after cudaDeviceReset() all that the program had is used for good.
   conform: books/cuMemAlloc_v2: all is given back, and cuMemGetInfo_v2 does not return to the start */
#define OWN_ALLOC
#include "sample/quota.h"

static struct {
    CUcontext context;
    CUdeviceptr block;
} made[MOST_BLOCKS];
static unsigned count;

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUcontext context = NULL;
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (result == CUDA_SUCCESS && NEXT(cuCtxGetCurrent)(&context) == CUDA_SUCCESS) {
        unsigned number = __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST) % MOST_BLOCKS;
        made[number].context = context;
        made[number].block = *dptr;
    }
    return counted(result, result ? 0 : *dptr, bytesize);
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult result = NEXT(cuCtxDestroy_v2)(ctx);
    for (int i = 0; i < MOST_BLOCKS && result == CUDA_SUCCESS; i++)
        if (made[i].context == ctx)
            give_back(forget(made[i].block));
    return result;
}
