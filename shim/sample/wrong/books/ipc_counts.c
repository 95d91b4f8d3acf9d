/* WRONG: counts memory of another process that is opened by its handle, though that process is counted for it.
   Shows: a program of several processes that hand each other tensors is refused memory that nobody has.
   conform: books/cuIpcOpenMemHandle_v2 of another process: cuIpcOpenMemHandle_v2 takes no memory, and cuMemGetInfo_v2 says that more is used */
#include "sample/quota.h"

EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    size_t bytes = 0;
    CUresult result = NEXT(cuIpcOpenMemHandle_v2)(pdptr, handle, Flags);
    if (result == CUDA_SUCCESS && NEXT(cuMemGetAddressRange_v2)(NULL, &bytes, *pdptr) == CUDA_SUCCESS) {
        take(bytes);
        remember(*pdptr, bytes);
    }
    return result;
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    size_t bytes = forget(dptr);
    CUresult result = NEXT(cuIpcCloseMemHandle)(dptr);
    return released(result, dptr, bytes);
}
