/* WRONG: asks for nothing where it does not know the device.
   Shows: the program gets a block that is too small.
   conform: faults/cuMemAlloc_v2: the driver refuses cuCtxGetDevice: argument bytesize is changed */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUdevice device;
    if (NEXT(cuCtxGetDevice)(&device))
        bytesize = 1;
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
