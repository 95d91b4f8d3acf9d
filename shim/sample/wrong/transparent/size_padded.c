/* WRONG: asks the driver for 512 bytes more than the program does.
   Shows: the program's books are wrong by that, and a full device is full earlier.
   conform: transparent/cuMemAlloc_v2: argument bytesize is changed */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize + 512);
}
