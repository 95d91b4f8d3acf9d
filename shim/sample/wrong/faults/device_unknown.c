/* WRONG: does not look whether the driver has told the device, and takes it for an index.
   Shows: cuMemAlloc_v2 crashes where cuCtxGetDevice fails.
   conform: faults/cuMemAlloc_v2: the driver refuses cuCtxGetDevice: it ends with SIGSEGV in cuMemAlloc_v2 of device_unknown.so
   conform: faults/a run with cuMemAlloc_v2: the driver refuses cuCtxGetDevice: a program ends with SIGSEGV after cuCtxSetCurrent */
#include "sample/next.h"

static size_t used[16];

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUdevice device = 1 << 30;
    NEXT(cuCtxGetDevice)(&device);
    used[device] += bytesize;
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
