/* Two devices: memory of the second one is got, and given back while the first one is current. What is said of both is
   written before, between and after. */
#include <stdio.h>
/* DECLARATIONS */

enum { DEVICES = 2 };

static nvmlDevice_t device;
static CUcontext contexts[DEVICES];
static const size_t size = 2 << 20;

/* HELPERS */

/* NUMBERS */

static int make_current(int number)
{
    return cuCtxSetCurrent(contexts[number]) || nvmlDeviceGetHandleByIndex_v2((unsigned)number, &device);
}

static void look(int when, long result)
{
    for (int i = 0; i < DEVICES; i++) {
        printf("step %d %ld\n", DEVICES * when + i, result);
        if (make_current(i) == 0)
            numbers();
    }
}

int main(void)
{
    int count = 0;
    BLOCK block = 0;
    long result;

    if (cuInit(0) || cuDeviceGetCount(&count) || nvmlInit_v2())
        return 2;
    if (count < DEVICES)
        return 0;
    for (int i = 0; i < DEVICES; i++)
        if (cuDevicePrimaryCtxRetain(&contexts[i], i))
            return 3;
    look(0, 0);
    if (make_current(1) || (result = ALLOCATE))
        return 4;
    look(1, result);
    if (make_current(0))
        return 5;
    result = RELEASE;
    look(2, result);
    return 0;
}
