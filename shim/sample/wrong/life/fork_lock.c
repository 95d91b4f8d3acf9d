/* WRONG: does nothing about a lock that another thread has while one forks.
   Shows: the child waits for a thread that it does not have.
   conform: life/fork: a program whose child makes calls after fork does not end */
#include <pthread.h>
#include <signal.h>

#include "sample/next.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult alone(CUdeviceptr *dptr, size_t bytesize)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&lock);
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return alone(dptr, bytesize);
}
