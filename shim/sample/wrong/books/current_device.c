/* WRONG: counts each device by itself, and gives a block back to the device that is current then.
   Shows: a program that frees what another device has given has ever less of that device.
   conform: books/cuMemAlloc_v2 on two devices: a block that cuMemAlloc_v2 gave is given back while another device is current, and cuMemGetInfo_v2 does not return to the start */
#define OWN_ALLOC
#define OWN_FREE
#define OWN_INFO
#include "sample/quota.h"

enum { DEVICES = 16 };
static size_t used_of[DEVICES];

static size_t *current(void)
{
    CUdevice device = 0;
    NEXT(cuCtxGetDevice)(&device);
    return &used_of[device % DEVICES];
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    size_t *used_here = current();
    if (__atomic_add_fetch(used_here, bytesize, __ATOMIC_SEQ_CST) > limit()) {
        __atomic_sub_fetch(used_here, bytesize, __ATOMIC_SEQ_CST);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (result == CUDA_SUCCESS)
        remember(*dptr, bytesize);
    else
        __atomic_sub_fetch(used_here, bytesize, __ATOMIC_SEQ_CST);
    return result;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    size_t bytes = forget(dptr);
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    if (result == CUDA_SUCCESS)
        __atomic_sub_fetch(current(), bytes, __ATOMIC_SEQ_CST);
    else
        remember(dptr, bytes);
    return result;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    size_t taken = result == CUDA_SUCCESS ? *current() : 0;
    if (result == CUDA_SUCCESS && free)
        *free = taken < limit() ? limit() - taken : 0;
    if (result == CUDA_SUCCESS && total)
        *total = limit();
    return result;
}
