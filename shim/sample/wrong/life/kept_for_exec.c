/* WRONG: opens its log without O_CLOEXEC.
   Shows: each program that this one executes has the log open, and has never heard of it.
   conform: life/left-alone: a program that looks at its signals, descriptors, locale and folder gets another result from descriptors-for-exec */
#include <fcntl.h>

#include "sample/next.h"

__attribute__((constructor)) static void begin(void)
{
    (void)!open("/dev/null", O_WRONLY);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
