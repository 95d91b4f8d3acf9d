/* WRONG: has what the driver answers in static memory for a while.
   Shows: a thread that asks for device 0 is told what another one has asked of device 1.
   conform: transparent/nvmlDeviceGetMemoryInfo: while another thread makes the same call: the result is changed
   conform: transparent/nvmlDeviceGetMemoryInfo: while another thread makes the same call: out-value memory is changed */
#include "sample/next.h"

static nvmlMemory_t found;
static volatile nvmlReturn_t result;

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    if (!memory)
        return NEXT(nvmlDeviceGetMemoryInfo)(device, memory);
    found = *memory;
    result = NEXT(nvmlDeviceGetMemoryInfo)(device, &found);
    *memory = found;
    return result;
}
