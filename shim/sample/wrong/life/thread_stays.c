/* WRONG: starts a thread in the library's own code and leaves it alone.
   Shows: a program that closes the library with dlclose crashes a moment later.
   conform: life/closed: a program that calls the driver after dlclose of it ends with SIGSEGV */
#include <pthread.h>
#include <unistd.h>

#include "sample/next.h"

static void *watch(void *unused)
{
    for (;;)
        usleep(1000);
    return unused;
}

CUresult cuInit(unsigned int Flags)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
    return NEXT(cuInit)(Flags);
}
