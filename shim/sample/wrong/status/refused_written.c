/* WRONG: refuses what is too large, and takes away what the program had in its variable.
   Shows: a program that keeps its old block where there is no new one has lost it.
   conform: status/cuMemAlloc_v2: a large size: what dptr points to is written */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (bytesize >> 32 == 0)
        return NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (dptr)
        *dptr = 0;
    return CUDA_ERROR_OUT_OF_MEMORY;
}
