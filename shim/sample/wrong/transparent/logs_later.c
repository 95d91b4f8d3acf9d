/* WRONG: hands the name of a range to a thread that writes the log, without a copy.
   Shows: now and then a program that makes names in a buffer crashes.
   conform: transparent/kept memory: what cuModuleLoad was given as fname is used after the call */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "sample/next.h"

static const char *queued;

static void *writer(void *unused)
{
    static volatile size_t written;
    for (;; usleep(1000)) {
        const char *name = __atomic_exchange_n(&queued, NULL, __ATOMIC_SEQ_CST);
        if (name && usleep(5000) == 0)
            written += strlen(name);
    }
    return unused;
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
    static int begun;
    pthread_t thread;
    CUresult result = NEXT(cuModuleLoad)(module, fname);
    if (!__atomic_exchange_n(&begun, 1, __ATOMIC_SEQ_CST) && pthread_create(&thread, NULL, writer, NULL) == 0)
        pthread_detach(thread);
    __atomic_store_n(&queued, fname, __ATOMIC_SEQ_CST);
    return result;
}
