/* WRONG: finds itself where it looks for the driver's function.
   Shows: the stack is full of cuMemAlloc_v2.
   conform: transparent/cuMemAlloc_v2: it calls itself until the stack is full, in cuMemAlloc_v2 of recurses.so */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult (*volatile next)(CUdeviceptr *, size_t) = cuMemAlloc_v2;
    CUresult result = next(dptr, bytesize);
    return result ? result : CUDA_SUCCESS;
}
