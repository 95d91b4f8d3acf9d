/* WRONG: returns the driver's status with a minus in front, as the kernel's interfaces do.
   Shows: no failure has a name.
   conform: status/cuMemAlloc_v2: NULL for dptr: the result is changed
   conform: status/cuMemAlloc_v2: a call that fails: it returns what is not in CUresult
   conform: status/cuMemAlloc_v2: a call that fails: the status not passed on */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return (CUresult)-(int)NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
