/* WRONG: it asks once, when it is loaded, and tells what the first device is of every one.
   Shows: two GPUs have one UUID: NCCL and frameworks take them for the same.
   conform: transparent/cuDeviceGetUuid_v2: it does not reach the driver */
#include "sample/next.h"

static CUuuid known;

__attribute__((constructor)) static void begin(void)
{
    if (NEXT(cuInit) && NEXT(cuInit)(0) == CUDA_SUCCESS)
        NEXT(cuDeviceGetUuid_v2)(&known, 0);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    if (!uuid)
        return NEXT(cuDeviceGetUuid_v2)(uuid, dev);
    *uuid = known;
    return CUDA_SUCCESS;
}
