/* WRONG: has its lock while a function of the program runs in a stream.
   Shows: where that waits for another thread, and this one asks for memory, the program stands still.
   conform: life/called-back: a program whose functions are called by the driver does not end */
#include <pthread.h>
#include <stdlib.h>

#include "sample/next.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct wrapped {
    CUhostFn function;
    void *data;
};

static void call(void *data)
{
    struct wrapped *wrapped = data;
    pthread_mutex_lock(&lock);
    wrapped->function(wrapped->data);
    pthread_mutex_unlock(&lock);
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct wrapped *wrapped = fn ? malloc(sizeof *wrapped) : NULL;
    if (!wrapped)
        return NEXT(cuLaunchHostFunc)(hStream, fn, userData);
    *wrapped = (struct wrapped){fn, userData};
    return NEXT(cuLaunchHostFunc)(hStream, call, wrapped);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    pthread_mutex_lock(&lock);
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    pthread_mutex_unlock(&lock);
    return result;
}
