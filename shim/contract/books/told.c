/* As sequence.c, with the calls told by the arguments: WHAT:BLOCK:SIZE:OF:OTHER each. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* DECLARATIONS */

enum { MOST = 256, SKIPPED = -1000000 };

static nvmlDevice_t device;
static unsigned long long blocks[MOST], places[MOST], contexts[MOST];

/* HELPERS */

/* NUMBERS */

static void step(int number, long result)
{
    printf("step %d %ld\n", number, result);
    numbers();
    fflush(stdout);
}

static long made(const char *what, unsigned block, size_t size, unsigned of, unsigned other)
{
    (void)other;
    /* CALLS */
    return SKIPPED;
}

int main(int count, char **told)
{
    CUcontext context;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 2;
    if (nvmlInit_v2() == 0)
        nvmlDeviceGetHandleByIndex_v2(0, &device);
    step(0, 0);
    for (int number = 1; number < count; number++) {
        char what[128];
        unsigned block, of, other;
        size_t size;
        if (sscanf(told[number], "%127[^:]:%u:%zu:%u:%u", what, &block, &size, &of, &other) != 5 || block >= MOST ||
            of >= MOST || other >= MOST)
            return 3;
        long result = made(what, block, size, of, other);
        if (result != SKIPPED)
            step(number, result);
    }
    return 0;
}
