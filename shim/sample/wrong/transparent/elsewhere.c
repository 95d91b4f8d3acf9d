/* WRONG: gets managed memory where the program asks for memory of the device.
   Shows: cuPointerGetAttribute says otherwise, and copies are slower.
   conform: transparent/cuMemAlloc_v2: it does not reach the driver */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAllocManaged)(dptr, bytesize, CU_MEM_ATTACH_GLOBAL);
}
