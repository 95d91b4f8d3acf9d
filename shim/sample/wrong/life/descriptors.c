/* WRONG: opens a file in each call, and closes none.
   Shows: a program that has run for a day cannot open files any more.
   conform: life/left-alone: a program that looks at its signals, descriptors, locale and folder gets another result from descriptors-gained */
#include <fcntl.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 ? CUDA_ERROR_OPERATING_SYSTEM
                                                      : NEXT(cuMemAlloc_v2)(dptr, bytesize);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    return NEXT(cuMemFree_v2)(dptr);
}
