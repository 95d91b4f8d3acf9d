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
static int threads;
enum { MOST = 64, LONGEST_SPIN = 20000, IN_TURN = 30 };
static long arrived;

/* HELPERS */

/* NUMBERS */

static struct {
    BLOCK block;
    int has;
} shared[MOST];

static void step(int number, long result)
{
    printf("step %d %ld\n", number, result);
    numbers();
}

/* A barrier wakes threads one after the other, microseconds apart: a look at the limit is over by then. Who is awake waits
   for the others without sleeping, if they come soon. */
static void start_together(int round)
{
    long all = (round + 1L) * threads;
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < LONGEST_SPIN && __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < all; i++)
        ;
}

/* A round is what happens between three waits: all ask, all have been answered, all have given back what the next thread
   got. */
static void *ask(void *number)
{
    int own = (int)(long)number, is_first = own == 0, next = (own + 1) % threads;
    cuCtxSetCurrent(context);
    for (int round = 0; round < rounds; round++) {
        BLOCK block = 0;
        pthread_barrier_wait(&line);
        start_together(round);
        int has = ALLOCATE == 0;
        if (has)
            __atomic_fetch_add(&granted, size, __ATOMIC_SEQ_CST);
        shared[own].block = block;
        shared[own].has = has;
        pthread_barrier_wait(&line);
        if (is_first && granted > most)
            most = granted;
        block = shared[next].block;
        if (shared[next].has)
            RELEASE;
        pthread_barrier_wait(&line);
        if (is_first)
            granted = 0;
    }
    for (int i = 0; i < IN_TURN; i++) { /* what one gives back another one is given at once, at the same address */
        BLOCK block = 0;
        if (ALLOCATE == 0)
            RELEASE;
    }
    return NULL;
}

int main(int count, char **told)
{
    pthread_t thread[MOST];

    threads = count > 1 ? atoi(told[1]) : 8;
    rounds = count > 2 ? atoi(told[2]) : 200;
    size = count > 3 ? strtoull(told[3], NULL, 10) : 1 << 20;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 2;
    if (nvmlInit_v2() == 0)
        nvmlDeviceGetHandleByIndex_v2(0, &device);
    step(0, 0);
    pthread_barrier_init(&line, NULL, (unsigned)threads);
    for (long i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, ask, (void *)i))
            return 3;
    ask(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    step(1, 0);
    printf("together %zu\n", most);
    return 0;
}
