/* WRONG: returns with its lock held where the driver has refused.
   Shows: the next call, of any thread, waits for ever.
   conform: faults/cuMemAlloc_v2: after the driver has refused cuMemAlloc_v2, in another thread: it does not end
   conform: faults/a run with cuMemAlloc_v2: the driver refuses cuMemAlloc_v2: a program does not end after cuMemAlloc_v2 */
#include <pthread.h>

#include "sample/next.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    pthread_mutex_lock(&lock);
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (result)
        return result;
    pthread_mutex_unlock(&lock);
    return result;
}
