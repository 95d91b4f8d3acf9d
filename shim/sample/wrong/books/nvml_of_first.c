/* WRONG: answers for the first device, whichever NVML is asked about.
   Shows: a monitor sees the second device empty, however much of it is used.
   conform: books/cuMemAlloc_v2 on two devices: cuMemAlloc_v2 takes memory of a second device, and nvmlDeviceGetMemoryInfo of that one does not say so */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlDevice_t first = device;
    NEXT(nvmlDeviceGetHandleByIndex_v2)(0, &first);
    return NEXT(nvmlDeviceGetMemoryInfo)(first, memory);
}
