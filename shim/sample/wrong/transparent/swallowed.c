/* WRONG: hands out an address of its own, and never asks the driver.
   Shows: the first copy to it fails.
   conform: transparent/cuMemAlloc_v2: it does not reach the driver */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    *dptr = bytesize ? 4096 : 0;
    return CUDA_SUCCESS;
}
