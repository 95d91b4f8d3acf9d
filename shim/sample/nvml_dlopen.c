/* nvml_info the way that monitoring programs do it: libnvidia-ml.so.1 is loaded, its functions are asked for by name. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "gdbcuda_api.h"

#define NVML(name, ...) must(#name, ((__typeof__(&name))function(#name))(__VA_ARGS__))

static void *nvml;

static void *function(const char *name)
{
    void *address = dlsym(nvml, name);
    if (!address) {
        printf("%s\n", dlerror());
        exit(2);
    }
    return address;
}

static void must(const char *what, nvmlReturn_t result)
{
    if (result == NVML_SUCCESS)
        return;
    printf("%s: %d\n", what, (int)result);
    exit(2);
}

static void show_device(unsigned int index)
{
    nvmlDevice_t device;
    nvmlMemory_t memory;
    NVML(nvmlDeviceGetHandleByIndex_v2, index, &device);
    NVML(nvmlDeviceGetMemoryInfo, device, &memory);
    printf("device %u: %llu MiB used of %llu MiB\n", index, memory.used >> 20, memory.total >> 20);
}

int main(void)
{
    unsigned int count;
    nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!nvml) {
        printf("no NVML: %s\n", dlerror());
        return 2;
    }
    NVML(nvmlInit_v2);
    NVML(nvmlDeviceGetCount_v2, &count);
    for (unsigned int index = 0; index < count; index++)
        show_device(index);
    NVML(nvmlShutdown);
    return 0;
}
