/* WRONG: frees what it knows of a function of the program's when that was called.
   Shows: in a graph that is launched again it is called again.
   conform: life/captured: a program that captures a stream and launches the graph ends with SIGABRT */
#include <stdlib.h>

#include "sample/next.h"

struct wrapped {
    CUhostFn function;
    void *data;
};

static void call(void *kept)
{
    struct wrapped *wrapped = kept;
    if (!wrapped->function)
        abort();
    wrapped->function(wrapped->data);
    wrapped->function = NULL; /* a free would be as wrong, and seen by chance */
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct wrapped *wrapped = malloc(sizeof *wrapped);
    if (!fn || !wrapped)
        return NEXT(cuLaunchHostFunc)(hStream, fn, userData);
    *wrapped = (struct wrapped){fn, userData};
    CUresult result = NEXT(cuLaunchHostFunc)(hStream, call, wrapped);
    if (result != CUDA_SUCCESS)
        free(wrapped);
    return result;
}
