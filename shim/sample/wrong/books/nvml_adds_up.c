/* WRONG: tells programs by NVML how much of the limit is used, and forgets to say that less is free.
   Shows: used and free are more than there is.
   conform: books/cuMemAlloc_v2: after cuMemAlloc_v2 what nvmlDeviceGetMemoryInfo says does not add up */
#include "sample/quota.h"

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    __typeof__(&nvmlDeviceGetMemoryInfo) next = (__typeof__(next))dlsym(RTLD_NEXT, "nvmlDeviceGetMemoryInfo");
    nvmlReturn_t result = next(device, memory);
    if (result == NVML_SUCCESS) {
        memory->total = limit();
        memory->used = used();
        memory->free = limit();
    }
    return result;
}
