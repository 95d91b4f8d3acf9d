/* WRONG: aborts where it is given back what it has not handed out.
   Shows: a process that closes memory of another one is aborted.
   conform: books/cuIpcOpenMemHandle_v2 of another process: a program ends with status 7 whose memory another process opens */
#include "sample/quota.h"

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    if (!forget(dptr))
        abort();
    return NEXT(cuIpcCloseMemHandle)(dptr);
}
