/* WRONG: returns -1 where it does not know the device.
   Shows: the failure has no name.
   conform: faults/cuMemAlloc_v2: the driver refuses cuCtxGetDevice: it returns what is not in CUresult
   conform: faults/a run with cuMemAlloc_v2: the driver refuses cuCtxGetDevice: cuMemAlloc_v2 returns what is not in CUresult */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUdevice device;
    if (NEXT(cuCtxGetDevice)(&device))
        return (CUresult)-1;
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
