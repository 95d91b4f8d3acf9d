/* Loads blocks of 1 to 40 MiB, then a second thread makes a hundred small ones: for conditions on caller and thread. */
#include <pthread.h>

#include "driver_sample.h"

static CUcontext context;

static void load(size_t bytes)
{
    CUdeviceptr block;
    must("cuMemAlloc", cuMemAlloc(&block, bytes));
    must("cuMemFree", cuMemFree(block));
}

static void *step(void *unused)
{
    CUdeviceptr block;
    must("cuCtxSetCurrent", cuCtxSetCurrent(context));
    for (int i = 0; i < 100; i++) {
        must("cuMemAlloc", cuMemAlloc(&block, 4096));
        must("cuMemFree", cuMemFree(block));
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    use_first_device();
    must("cuCtxGetCurrent", cuCtxGetCurrent(&context));
    for (int i = 1; i <= 40; i++)
        load((size_t)i * MiB);
    if (pthread_create(&thread, NULL, step, NULL) != 0)
        return 2;
    pthread_join(thread, NULL);
    return 0;
}
