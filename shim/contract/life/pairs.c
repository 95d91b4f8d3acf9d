/* What counts how often it is begun, and ends with the last end: NVML, and the primary context of a device. */
#include <stdio.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

static void count_devices(void)
{
    unsigned count = 0;
    say("nvmlDeviceGetCount_v2", CALL(nvmlDeviceGetCount_v2)(&count));
}

static void nvml(void)
{
    say("nvmlInit_v2", CALL(nvmlInit_v2)());
    say("nvmlInit_v2", CALL(nvmlInit_v2)());
    say("nvmlShutdown", CALL(nvmlShutdown)());
    count_devices();
    say("nvmlShutdown", CALL(nvmlShutdown)()); /* a thread of the hook library's may still have it */
    say("nvmlInit_v2", CALL(nvmlInit_v2)());
    count_devices();
}

static void tell_whether_active(void)
{
    unsigned flags;
    int active = -1;
    say("cuDevicePrimaryCtxGetState", CALL(cuDevicePrimaryCtxGetState)(0, &flags, &active));
    say("active", active);
}

static void context(void)
{
    CUcontext context = NULL;
    say("cuDevicePrimaryCtxRetain", CALL(cuDevicePrimaryCtxRetain)(&context, 0));
    say("cuDevicePrimaryCtxRelease_v2", CALL(cuDevicePrimaryCtxRelease_v2)(0));
    work();
    say("cuDevicePrimaryCtxRelease_v2", CALL(cuDevicePrimaryCtxRelease_v2)(0));
    tell_whether_active();
    say("cuDevicePrimaryCtxRelease_v2", CALL(cuDevicePrimaryCtxRelease_v2)(0));
    start();
    work();
}

int main(void)
{
    start();
    context();
    nvml();
    return 0;
}
