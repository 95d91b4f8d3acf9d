/* WRONG: has a large buffer on the stack of whoever calls.
   Shows: a thread with a small stack, as servers have many, crashes in cuMemAlloc_v2.
   conform: life/small-stack: a program whose thread has a small stack ends with SIGSEGV */
#include <stdio.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    char line[256 << 10];
    snprintf(line, sizeof line, "cuMemAlloc_v2 of %zu bytes", bytesize);
    line[sizeof line - 1] = line[0];
    return line[0] == 'c' ? NEXT(cuMemAlloc_v2)(dptr, bytesize) : CUDA_ERROR_UNKNOWN;
}
