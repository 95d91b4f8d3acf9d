/* WRONG: at the end it waits until its thread has said that it is done.
   Shows: a child that ends with exit has no such thread, and does not end.
   conform: life/fork-exit: a program whose child ends with exit does not end */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "sample/next.h"

static int ending, done;

static void *watch(void *nothing)
{
    while (!__atomic_load_n(&ending, __ATOMIC_SEQ_CST))
        usleep(1000);
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
    return nothing;
}

__attribute__((constructor)) static void begin(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((destructor)) static void end(void)
{
    __atomic_store_n(&ending, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
        usleep(1000);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
