/* WRONG: takes the first nvmlShutdown for the end of NVML, however often it was begun.
   Shows: a program that has NVML and a library that has it, too, loses it when the library ends it.
   conform: life/pairs: a program that begins NVML and a context twice and ends them twice gets another result from nvmlDeviceGetCount_v2 */
#include "sample/next.h"

static int begun;

static void *next_of_nvml(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    return next ? next : dlsym(dlopen("libnvidia-ml.so.1", RTLD_LAZY), name);
}

#define NEXT_OF_NVML(name) ((__typeof__(&name))next_of_nvml(#name))

nvmlReturn_t nvmlInit_v2(void)
{
    begun = 1;
    return NEXT_OF_NVML(nvmlInit_v2)();
}

nvmlReturn_t nvmlShutdown(void)
{
    begun = 0;
    return NEXT_OF_NVML(nvmlShutdown)();
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    return begun ? NEXT_OF_NVML(nvmlDeviceGetCount_v2)(deviceCount) : NVML_ERROR_UNINITIALIZED;
}
