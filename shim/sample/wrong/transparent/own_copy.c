/* WRONG: asks the driver into memory of its own, and forgets to hand a pointer on; keeps the caller's memory for later.
   Shows: the program reads what was there before, or finds its memory changed when it makes another call.
   conform: transparent/cuMemHostAlloc: out-value pp is not written
   conform: transparent/cuCtxGetDevice: out-value device is not written
   conform: transparent/cuMemAlloc_v2: memory beyond its out-parameters is written */
#include "sample/next.h"

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    void *own = NULL;
    return NEXT(cuMemHostAlloc)(pp ? &own : pp, bytesize, Flags);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    CUdevice own = 0;
    return NEXT(cuCtxGetDevice)(device ? &own : device);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    static CUdeviceptr *last;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (last && last != dptr)
        *last = 0;
    last = result == CUDA_SUCCESS ? dptr : NULL;
    return result;
}
