/* WRONG: bears no second one of itself in a process, and not itself again after dlclose.
   Shows: a program that loads it once more, by another path or again, is aborted.
   conform: life/loaded-twice: a program that it is preloaded into twice, from two files ends with SIGABRT
   conform: life/opened-again: a program that opens it with dlopen, closes it and opens it again ends with SIGABRT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample/next.h"

__attribute__((constructor)) static void begin(void)
{
    char text[16];
    const char *known = getenv("WRONG_LOADED");
    if (known && atoi(known) == getpid())
        abort();
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv("WRONG_LOADED", text, 1);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
