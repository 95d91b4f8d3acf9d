/* WRONG: reads its own table before it is there.
   Shows: cuMemAlloc_v2 crashes.
   conform: transparent/cuMemAlloc_v2: it ends with SIGSEGV in cuMemAlloc_v2 of crashes.so */
#include "sample/next.h"

static size_t *volatile table;

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    table[0] += bytesize;
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
