/* A process that gets and gives back memory in several threads until it is killed. With an argument it is the one that
   comes after: it has to find everything as it was before. */
#include <pthread.h>
#include <stdio.h>
/* DECLARATIONS */

enum { THREADS = 4 };

static CUcontext context;
static nvmlDevice_t device;
static const size_t size = 1 << 16;

/* HELPERS */

/* NUMBERS */

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

static int come_after(void)
{
    BLOCK block = 0;

    if (cuCtxSetCurrent(context))
        return 2;
    if (nvmlInit_v2() == 0)
        nvmlDeviceGetHandleByIndex_v2(0, &device);
    puts("step 0 0");
    numbers();
    return ALLOCATE || RELEASE ? 1 : 0;
}

int main(int count, char **told)
{
    pthread_t thread;

    (void)told;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0))
        return 2;
    if (count > 1)
        return come_after();
    puts("works");
    fflush(stdout);
    for (int i = 1; i < THREADS; i++)
        if (pthread_create(&thread, NULL, work, NULL))
            return 3;
    work(NULL);
    return 0;
}
