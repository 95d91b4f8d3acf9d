/* WRONG: retains the primary context for itself, and never releases it.
   Shows: a library that releases the last context of a device leaves its memory behind.
   conform: life/pairs: a program that begins NVML and a context twice and ends them twice gets another result from active */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    static CUcontext own;
    if (!own)
        NEXT(cuDevicePrimaryCtxRetain)(&own, 0);
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
