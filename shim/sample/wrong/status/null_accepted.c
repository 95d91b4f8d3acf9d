/* WRONG: has a variable of its own for what the driver writes, also where the program has none.
   Shows: a mistake that the driver would tell is a block that nobody has.
   conform: status/cuMemAlloc_v2: NULL for dptr: the result is changed */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUdeviceptr own = 0;
    CUresult result = NEXT(cuMemAlloc_v2)(&own, bytesize);
    if (!result && dptr)
        *dptr = own;
    return dptr ? result : CUDA_SUCCESS;
}
