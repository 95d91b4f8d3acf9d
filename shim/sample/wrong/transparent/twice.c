/* WRONG: asks the driver once to see whether it works, and then again.
   Shows: each block is there twice, and one of them is never freed.
   conform: transparent/cuMemAlloc_v2: the driver gets it 2 times */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return result ? result : NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
