/* A process that gets and gives back memory in several threads until it is killed. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
/* DECLARATIONS */

enum { THREADS = 4 };

static CUcontext context;
static const size_t size = 1 << 16;

/* HELPERS */

static void *work(void *unused)
{
    size_t free, total;
    cuCtxSetCurrent(context);
    for (;;) {
        BLOCK block = 0;
        if (ALLOCATE == 0)
            RELEASE;
        cuMemGetInfo_v2(&free, &total);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0))
        return 2;
    puts("works");
    fflush(stdout);
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&thread, NULL, work, NULL))
            return 3;
    work(NULL);
    return 0;
}
