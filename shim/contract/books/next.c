/* What comes after the one that was killed: it has to find everything as it was before. */
#include <stdio.h>
/* DECLARATIONS */

static nvmlDevice_t device;
static const size_t size = 1 << 16;

/* HELPERS */

/* NUMBERS */

int main(void)
{
    CUcontext context;
    BLOCK block = 0;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
        return 2;
    if (nvmlInit_v2() == 0)
        nvmlDeviceGetHandleByIndex_v2(0, &device);
    puts("step 0 0");
    numbers();
    return ALLOCATE || RELEASE ? 1 : 0;
}
