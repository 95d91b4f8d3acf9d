/* WRONG: has one lock for all calls, and keeps it while the driver waits for a stream.
   Shows: where the stream waits for what another thread does, the program stands still.
   conform: life/waits: a program whose other thread waits in the driver does not end */
#include <pthread.h>

#include "sample/next.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult cuStreamSynchronize(CUstream stream)
{
    pthread_mutex_lock(&lock);
    CUresult result = NEXT(cuStreamSynchronize)(stream);
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    pthread_mutex_lock(&lock);
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    pthread_mutex_unlock(&lock);
    return result;
}
