/* WRONG: writes its log while it has a lock; write is where a thread that is cancelled ends.
   Shows: after pthread_cancel of a thread in a call all others wait for ever.
   conform: life/thread-ends: a program whose threads end or are cancelled in calls does not end */
#include <pthread.h>
#include <unistd.h>

#include "sample/next.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    pthread_mutex_lock(&lock);
    if (write(STDERR_FILENO, "cuMemAlloc_v2\n", 14) < 0)
        bytesize += 0; /* nobody to tell */
    pthread_mutex_unlock(&lock);
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
