/* WRONG: looks for its own path in LD_PRELOAD, which is not set where a program is linked against it or opens it.
   Shows: such a program crashes before main, or in dlopen.
   conform: life/linked: a program that is linked against it ends with SIGSEGV
   conform: life/dlopen-lazy: a program that opens it with dlopen (lazy) ends with SIGSEGV
   conform: life/dlopen-now: a program that opens it with dlopen (now) ends with SIGSEGV
   conform: life/dlopen-global: a program that opens it with dlopen (global) ends with SIGSEGV
   conform: life/dlopen-nodelete: a program that opens it with dlopen (nodelete) ends with SIGSEGV
   conform: life/dlopen-global-deepbind: a program that opens it with dlopen (global, deepbind) ends with SIGSEGV */
#include <stdlib.h>
#include <string.h>

#include "sample/next.h"

static size_t length;

__attribute__((constructor)) static void begin(void)
{
    const char *volatile path = getenv("LD_PRELOAD");
    length = strlen(path);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return length ? NEXT(cuMemAlloc_v2)(dptr, bytesize) : CUDA_ERROR_UNKNOWN;
}
