/* WRONG: takes a lock that a signal handler of the same thread may want as well.
   Shows: a handler that asks how much memory is free never returns, if it comes at a bad moment.
   conform: life/signal: a program whose signal handler asks how much memory is free does not end */
#include <pthread.h>

#include "sample/next.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void give(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void keep_over_fork(void)
{
    pthread_atfork(take, give, give);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    take();
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    give();
    return result;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    take();
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    give();
    return result;
}
