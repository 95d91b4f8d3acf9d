/* WRONG: makes CUDA_ERROR_UNKNOWN of an illegal address.
   Shows: the program cannot tell that the context is lost.
   conform: status/cuMemAlloc_v2: a call that fails: CUDA_ERROR_ILLEGAL_ADDRESS not passed on */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return result == CUDA_ERROR_ILLEGAL_ADDRESS ? CUDA_ERROR_UNKNOWN : result;
}
