/* A hook library that is wrong on purpose, and whose programs see nothing of it: it allocates a buffer for itself and
   forgets it, frees every block twice, and swallows fills. */
#include <dlfcn.h>
#include <pthread.h>

#include "gdbcuda_api.h"

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* its mistakes are the same whichever thread comes first */

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    static CUdeviceptr buffer;
    pthread_mutex_lock(&lock);
    if (!buffer)
        NEXT(cuMemAlloc_v2)(&buffer, 65536);
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    pthread_mutex_lock(&lock);
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    NEXT(cuMemFree_v2)(dptr);
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    (void)dstDevice, (void)uc, (void)N;
    return CUDA_SUCCESS;
}
