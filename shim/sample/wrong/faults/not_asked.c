/* WRONG: takes it for a success where it does not know what to do.
   Shows: the program goes on with an address that it never got.
   conform: faults/cuMemAlloc_v2: the driver refuses cuCtxGetDevice: it says that all is well, and has not asked the driver */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUdevice device;
    if (NEXT(cuCtxGetDevice)(&device))
        return CUDA_SUCCESS;
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
