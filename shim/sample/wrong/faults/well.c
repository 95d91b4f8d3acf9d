/* WRONG: says that all is well where the driver has refused.
   Shows: the program goes on with an address that it never got.
   conform: faults/cuMemAlloc_v2: the driver refuses cuMemAlloc_v2: it says that all is well
   conform: faults/a run with cuMemAlloc_v2: the driver refuses cuMemAlloc_v2: cuMemAlloc_v2 says that all is well */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return CUDA_SUCCESS;
}
