/* WRONG: writes NULL where the program's pointer is when the driver has failed.
   Shows: a program that keeps its old block in case of failure has lost it.
   conform: status/cuMemAlloc_v2: a call that fails: what dptr points to is written */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (dptr && result)
        *dptr = 0;
    return result;
}
