/* WRONG: says on the standard output what it does.
   Shows: what reads the program's output finds lines that the program has not written.
   conform: life/preload: a program that it is preloaded into has another line in its output */
#include <stdio.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    printf("[hook] cuMemAlloc_v2 of %zu bytes\n", bytesize);
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
