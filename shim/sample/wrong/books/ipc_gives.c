/* WRONG: takes a closed handle for freed memory, which is its owner's still.
   Shows: after a process has closed what it was handed all of them together may have more than QUOTA.
   conform: books/cuIpcOpenMemHandle_v2 of another process: who lets go of another process's memory gives nothing back, and cuMemGetInfo_v2 says that less is used
   conform: books/cuIpcOpenMemHandle_v2 of another process: another process has let go of memory, and cuMemGetInfo_v2 of its owner says that less is used */
#include "sample/quota.h"

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    size_t bytes = 0;
    NEXT(cuMemGetAddressRange_v2)(NULL, &bytes, dptr);
    CUresult result = NEXT(cuIpcCloseMemHandle)(dptr);
    if (result == CUDA_SUCCESS)
        give_back(bytes);
    return result;
}
