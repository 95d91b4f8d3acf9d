/* WRONG: waits for a thread that never comes.
   Shows: cuMemAlloc_v2 does not return.
   conform: transparent/cuMemAlloc_v2: it does not end */
#include <unistd.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    (void)dptr, (void)bytesize;
    for (;;)
        pause();
}
