/* WRONG: says that the call has failed, whatever the driver says.
   Shows: no program works.
   conform: transparent/cuMemAlloc_v2: the result is changed */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return result ? result : CUDA_ERROR_UNKNOWN;
}
