/* WRONG: keeps what a stream is to call in memory of the thread that has put it in.
   Shows: the driver calls it in a thread of its own, in which there is nothing.
   conform: life/called-back: a program whose functions are called by the driver ends with SIGSEGV */
#include "sample/next.h"

static __thread CUhostFn function;

static void call(void *data)
{
    function(data);
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    function = fn;
    return NEXT(cuLaunchHostFunc)(hStream, fn ? call : fn, userData);
}
