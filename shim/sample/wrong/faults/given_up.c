/* WRONG: remembers a failure, and never asks the driver again.
   Shows: a program that frees something and tries again is refused for good.
   conform: faults/cuMemAlloc_v2: after the driver has refused cuMemAlloc_v2, in another thread: it does not reach the driver
   conform: faults/a run with cuMemAlloc_v2: the driver refuses cuMemAlloc_v2: cuMemAlloc_v2 fails later, which the driver has not refused */
#include "sample/next.h"

static CUresult known;

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!known)
        known = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return known;
}
