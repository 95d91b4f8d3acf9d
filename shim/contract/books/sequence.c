/* Calls, and what the hook library says about the device's memory before the first and after each of them. */
#include <stdio.h>
#include <unistd.h>
/* DECLARATIONS */

static nvmlDevice_t device;

/* HELPERS */

/* NUMBERS */

static int step(int number, long result)
{
    printf("step %d %ld\n", number, result);
    numbers();
    fflush(stdout);
    return result == 0;
}

int main(void)
{
    CUcontext context;
    /* VARIABLES */

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 2;
    if (nvmlInit_v2() == 0)
        nvmlDeviceGetHandleByIndex_v2(0, &device);
    step(0, 0);
    /* STEPS */
    return 0;
}
