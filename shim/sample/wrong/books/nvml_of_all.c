/* WRONG: knows what NVML says, and tells programs there ten times what is used.
   Shows: nvmlDeviceGetMemoryInfo and cuMemGetInfo_v2 do not agree.
   conform: books/cuMemAlloc_v2: after cuMemAlloc_v2 cuMemGetInfo_v2 and nvmlDeviceGetMemoryInfo do not agree */
#include "sample/quota.h"

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    __typeof__(&nvmlDeviceGetMemoryInfo) next = (__typeof__(next))dlsym(RTLD_NEXT, "nvmlDeviceGetMemoryInfo");
    nvmlReturn_t result = next(device, memory);
    if (result == NVML_SUCCESS) {
        memory->total = limit();
        memory->used = 10 * used();
        memory->free = memory->total - memory->used;
    }
    return result;
}
