/* WRONG: takes a lock that a signal handler of the same thread may want as well, where there is a context.
   Shows: a handler that asks how much memory is free never returns, if it comes at a bad moment.
   conform: life/signal: a program whose signal handler asks how much memory is free does not end */
#include <pthread.h>

#include "sample/next.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int has_context(void)
{
    CUcontext context = NULL;
    return NEXT(cuCtxGetCurrent)(&context) == CUDA_SUCCESS && context;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    int is_locked = has_context() && pthread_mutex_lock(&lock) == 0;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (is_locked)
        pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    int is_locked = has_context() && pthread_mutex_lock(&lock) == 0;
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    if (is_locked)
        pthread_mutex_unlock(&lock);
    return result;
}
