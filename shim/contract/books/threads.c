/* Threads that ask for memory at the same instant: how much all of them are granted together. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
/* DECLARATIONS */

static nvmlDevice_t device;
static CUcontext context;
static pthread_barrier_t line;
static int rounds;
static size_t size, granted, most;

/* HELPERS */

/* NUMBERS */

static void step(int number, long result)
{
    printf("step %d %ld\n", number, result);
    numbers();
}

/* A round is what happens between three waits: all ask, all have been answered, all have given back. */
static void *ask(void *is_first)
{
    cuCtxSetCurrent(context);
    for (int round = 0; round < rounds; round++) {
        BLOCK block = 0;
        pthread_barrier_wait(&line);
        int has = ALLOCATE == 0;
        if (has)
            __atomic_fetch_add(&granted, size, __ATOMIC_SEQ_CST);
        pthread_barrier_wait(&line);
        if (is_first && granted > most)
            most = granted;
        if (has)
            RELEASE;
        pthread_barrier_wait(&line);
        if (is_first)
            granted = 0;
    }
    return NULL;
}

int main(int count, char **told)
{
    int threads = count > 1 ? atoi(told[1]) : 8;
    pthread_t thread[64];

    rounds = count > 2 ? atoi(told[2]) : 200;
    size = count > 3 ? strtoull(told[3], NULL, 10) : 1 << 20;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 2;
    if (nvmlInit_v2() == 0)
        nvmlDeviceGetHandleByIndex_v2(0, &device);
    step(0, 0);
    pthread_barrier_init(&line, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, ask, NULL))
            return 3;
    ask(&line);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    step(1, 0);
    printf("together %zu\n", most);
    return 0;
}
