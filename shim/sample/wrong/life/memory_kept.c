/* WRONG: keeps a copy of what it is given in each call, for ever.
   Shows: a program that trains for a day has no memory left.
   conform: life/left-alone: a program that looks at its signals, descriptors, locale and folder gets another result from memory-kept-in-each-call */
#include <stdlib.h>
#include <string.h>

#include "sample/next.h"

static void *volatile last;

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    last = memset(malloc(16 << 10), 0, 16 << 10);
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    return NEXT(cuMemFree_v2)(dptr);
}
