/* WRONG: gives up where it cannot tell the device of a block, and leaves the block to nobody.
   Shows: the block is never freed.
   conform: faults/cuMemAlloc_v2: the driver refuses cuCtxGetDevice: it fails, and leaves done what the driver has done */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUdevice device;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return result ? result : NEXT(cuCtxGetDevice)(&device);
}
