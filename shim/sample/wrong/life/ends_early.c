/* WRONG: ends the process where it hears of its end.
   Shows: what the program has not written yet is lost.
   conform: life/fork-exit: a program whose child ends with exit has another line in its output */
#include <unistd.h>

#include "sample/next.h"

extern int on_exit(void (*function)(int, void *), void *argument);

static void end(int status, void *unused)
{
    (void)unused;
    _exit(status);
}

__attribute__((constructor)) static void begin(void)
{
    on_exit(end, NULL);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
