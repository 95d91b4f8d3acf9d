/* Linked against libnvidia-ml: what nvidia-smi would print about each device. Exit status 0, or 2 if a call failed. */
#include <stdio.h>
#include <stdlib.h>

#include "gdbcuda_api.h"

static void must(const char *what, nvmlReturn_t result)
{
    if (result == NVML_SUCCESS)
        return;
    printf("%s: %s\n", what, nvmlErrorString(result));
    exit(2);
}

static void show_device(unsigned int index)
{
    nvmlDevice_t device;
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
    nvmlMemory_t memory;
    must("nvmlDeviceGetHandleByIndex_v2", nvmlDeviceGetHandleByIndex_v2(index, &device));
    must("nvmlDeviceGetName", nvmlDeviceGetName(device, name, sizeof name));
    must("nvmlDeviceGetMemoryInfo", nvmlDeviceGetMemoryInfo(device, &memory));
    printf("device %u: %s, %llu MiB used of %llu MiB\n", index, name, memory.used >> 20, memory.total >> 20);
}

int main(void)
{
    unsigned int count;
    must("nvmlInit_v2", nvmlInit_v2());
    must("nvmlDeviceGetCount_v2", nvmlDeviceGetCount_v2(&count));
    for (unsigned int index = 0; index < count; index++)
        show_device(index);
    must("nvmlShutdown", nvmlShutdown());
    return 0;
}
