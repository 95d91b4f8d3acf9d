/* WRONG: changes a struct that was passed by value.
   Shows: the handle of another process is not known to the driver.
   conform: transparent/cuIpcOpenMemHandle_v2: argument handle is changed */
#include "sample/next.h"

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *dptr, CUipcMemHandle handle, unsigned int flags)
{
    handle.reserved[63]++;
    return NEXT(cuIpcOpenMemHandle_v2)(dptr, handle, flags);
}
