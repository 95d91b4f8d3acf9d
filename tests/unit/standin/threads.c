/* Many threads at once: each has its own current context and last error, and they share the device's memory.
 * Prints the line of what went wrong, and nothing when all is well. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gdbcuda_api.h"

enum { THREADS = 8, ROUNDS = 300, BLOCKS = 20, SIZE = 5000 };

static CUcontext shared;
static int failures;

static void expect(int line, int truth, const char *what)
{
    if (truth)
        return;
    printf("line %d: %s\n", line, what);
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}
#define EXPECT(truth) expect(__LINE__, (truth), #truth)
#define OK(call) EXPECT((call) == CUDA_SUCCESS)

static void one_round(int number)
{
    CUdeviceptr blocks[BLOCKS];
    unsigned char back[SIZE];
    CUstream stream;
    CUevent event;

    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    for (int i = 0; i < BLOCKS; i++) {
        OK(cuMemAlloc_v2(&blocks[i], SIZE));
        OK(cuMemsetD8Async(blocks[i], (unsigned char)(number + i), SIZE, stream));
    }
    OK(cuEventRecord(event, stream));
    OK(cuEventSynchronize(event));
    for (int i = 0; i < BLOCKS; i++) {
        OK(cuMemcpyDtoH_v2(back, blocks[i], SIZE));
        EXPECT(back[0] == (unsigned char)(number + i) && memcmp(back, back + 1, SIZE - 1) == 0);
        OK(cuMemFree_v2(blocks[i]));
    }
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
}

static void *work(void *number)
{
    CUcontext current;
    CUdeviceptr block;

    OK(cuCtxGetCurrent(&current));
    EXPECT(current == NULL);
    EXPECT(cuMemAlloc_v2(&block, 16) == CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(shared));
    for (int i = 0; i < ROUNDS; i++)
        one_round((int)(size_t)number * 31 + i);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    size_t before, after, total;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&shared, 0));
    OK(cuCtxSetCurrent(shared));
    OK(cuMemGetInfo_v2(&before, &total));
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    OK(cuMemGetInfo_v2(&after, &total));
    EXPECT(before == after);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    EXPECT(cuMemGetInfo_v2(&after, &total) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return failures != 0;
}
