/* WRONG: keeps something for each thread, and leaves its destructor to the threads when it is closed.
   Shows: a program that closes it ends with SIGSEGV as soon as a thread ends that has called through it.
   conform: life/closed: a program that calls the driver after dlclose of it ends with SIGSEGV */
#include <pthread.h>
#include <stdlib.h>

#include "sample/next.h"

static pthread_key_t key;

static void forget(void *kept)
{
    free(kept);
}

__attribute__((constructor)) static void begin(void)
{
    pthread_key_create(&key, forget);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!pthread_getspecific(key))
        pthread_setspecific(key, malloc(64));
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
