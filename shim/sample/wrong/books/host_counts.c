/* WRONG: counts memory of the host as if it were the device's.
   Shows: a program with large buffers for copies is told that its device is full.
   conform: books/cuMemHostAlloc: cuMemHostAlloc takes no memory, and cuMemGetInfo_v2 says that more is used */
#include "sample/quota.h"

EXPORT CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemHostAlloc)(pp, bytesize, Flags);
    return counted(result, result ? 0 : (uintptr_t)*pp, bytesize);
}

EXPORT CUresult cuMemFreeHost(void *p)
{
    size_t bytes = forget((uintptr_t)p);
    CUresult result = NEXT(cuMemFreeHost)(p);
    return released(result, (uintptr_t)p, bytes);
}
