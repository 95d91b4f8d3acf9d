/* WRONG: each process has a lock of its own for what all of them share.
   Shows: processes that ask at the same instant are sometimes granted more than QUOTA together.
   conform: books/processes: processes that ask at the same instant are granted more than the limit */
#define OWN_ALLOC
#include "sample/quota.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    pthread_mutex_lock(&lock);
    bool has_room = used() + bytesize <= limit();
    if (has_room)
        take(bytesize);
    pthread_mutex_unlock(&lock);
    if (!has_room)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, bytesize);
}
