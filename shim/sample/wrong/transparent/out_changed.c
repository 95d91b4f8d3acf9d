/* WRONG: says 7 bytes where the driver says how large the device is.
   Shows: the program asks for less than it could.
   conform: transparent/cuMemGetInfo_v2: out-value total is changed */
#include "sample/next.h"

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    if (result == CUDA_SUCCESS)
        *total = 7;
    return result;
}
