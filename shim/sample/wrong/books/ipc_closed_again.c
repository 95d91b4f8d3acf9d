/* WRONG: gives back what a handle has taken whatever the driver says to its close.
   Shows: who closes a handle twice has more than QUOTA.
   conform: books/cuIpcOpenMemHandle_v2 of another process: what was let go of is let go of again, and cuMemGetInfo_v2 says that less is used */
#include "sample/quota.h"

static size_t opened;

EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    CUresult result = NEXT(cuIpcOpenMemHandle_v2)(pdptr, handle, Flags);
    if (result == CUDA_SUCCESS && NEXT(cuMemGetAddressRange_v2)(NULL, &opened, *pdptr) == CUDA_SUCCESS)
        take(opened);
    return result;
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    give_back(opened);
    return NEXT(cuIpcCloseMemHandle)(dptr);
}
