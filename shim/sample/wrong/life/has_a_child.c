/* WRONG: has a process of its own, to look whether the driver is well.
   Shows: a program that waits for any of its children gets one that it has never made.
   conform: life/left-alone: a program that looks at its signals, descriptors, locale and folder gets another result from child-to-wait-for */
#include <unistd.h>

#include "sample/next.h"

__attribute__((constructor)) static void begin(void)
{
    if (fork() == 0)
        _exit(0);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
