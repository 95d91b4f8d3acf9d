/* WRONG: gives up in its destructor what its wrappers need.
   Shows: a library whose destructor runs later, and frees its memory, crashes at the end of the program.
   conform: life/destructor: a program whose library makes calls in a destructor ends with SIGSEGV */
#include <stdlib.h>

#include "sample/next.h"

static size_t *calls;

static size_t *counter(void)
{
    static size_t *made;
    if (!made)
        calls = made = calloc(1, sizeof *made);
    return calls;
}

__attribute__((destructor)) static void end(void)
{
    free(calls);
    calls = NULL;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    ++*counter();
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
