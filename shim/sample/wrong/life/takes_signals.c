/* WRONG: its thread has no signal blocked.
   Shows: a server that waits for SIGTERM with sigwait, all of its own threads having it blocked, is ended by it.
   conform: life/waited-signal: a program that waits for signals which it has blocked ends with SIGTERM */
#include <pthread.h>
#include <unistd.h>

#include "sample/next.h"

static void *watch(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
