/* WRONG: its destructor waits for its thread, which waits for nothing.
   Shows: a program that is ready never ends.
   conform: life/preload: a program that it is preloaded into does not end */
#include <pthread.h>
#include <unistd.h>

#include "sample/next.h"

static pthread_t thread;

static void *watch(void *unused)
{
    for (;;)
        pause();
    return unused;
}

__attribute__((destructor)) static void end(void)
{
    if (thread)
        pthread_join(thread, NULL);
}

CUresult cuInit(unsigned int Flags)
{
    pthread_create(&thread, NULL, watch, NULL);
    return NEXT(cuInit)(Flags);
}
