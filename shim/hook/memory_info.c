/* With a limit, programs are told that the device is as large as the limit, and that used is what this process has. */
#include <string.h>

#include "limit.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t left_on(CUdevice device)
{
    size_t limit = limit_bytes(), used = limit_used(device);
    return used < limit ? limit - used : 0;
}

HOOK CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = FORWARD(cuMemGetInfo_v2, free, total);
    if (result == CUDA_SUCCESS && limit_bytes() && total) /* the driver takes NULL for either */
        *total = limit_total(*total);
    if (result == CUDA_SUCCESS && limit_bytes() && free)
        *free = smaller(*free, left_on(current_device()));
    return result;
}

HOOK CUresult cuMemGetInfo(unsigned int *free, unsigned int *total)
{
    CUresult result = FORWARD(cuMemGetInfo, free, total);
    if (result == CUDA_SUCCESS && limit_bytes() && total)
        *total = (unsigned int)limit_total(*total);
    if (result == CUDA_SUCCESS && limit_bytes() && free)
        *free = (unsigned int)smaller(*free, left_on(current_device()));
    return result;
}

HOOK CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    CUresult result = FORWARD(cuDeviceTotalMem_v2, bytes, dev);
    if (result == CUDA_SUCCESS)
        *bytes = limit_total(*bytes);
    return result;
}

HOOK CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
    CUresult result = FORWARD(cuDeviceTotalMem, bytes, dev);
    if (result == CUDA_SUCCESS)
        *bytes = (unsigned int)limit_total(*bytes);
    return result;
}

/* NVML counts all devices of the machine, the driver those that CUDA_VISIBLE_DEVICES lets through: they agree on the
   PCI address. -1 where the driver is not initialised or does not see the device. Also a name that looks like the
   API's and is not. */
static CUdevice nvml_to_cuda_device(nvmlDevice_t device)
{
    nvmlPciInfo_t pci;
    CUdevice found;
    if (nvmlDeviceGetPciInfo_v3(device, &pci) != NVML_SUCCESS)
        return -1;
    return cuDeviceGetByPCIBusId(&found, pci.busId) == CUDA_SUCCESS ? found : -1;
}

HOOK nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlReturn_t result = FORWARD_NVML(nvmlDeviceGetMemoryInfo, device, memory);
    if (result == NVML_SUCCESS && limit_bytes()) {
        memory->total = limit_total(memory->total);
        memory->used = smaller(limit_used(nvml_to_cuda_device(device)), memory->total);
        memory->free = memory->total - memory->used;
    }
    return result;
}

HOOK nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    nvmlReturn_t result = FORWARD_NVML(nvmlDeviceGetMemoryInfo_v2, device, memory);
    if (result == NVML_SUCCESS && limit_bytes()) {
        memory->total = limit_total(memory->total);
        memory->reserved = 0;
        memory->used = smaller(limit_used(nvml_to_cuda_device(device)), memory->total);
        memory->free = memory->total - memory->used;
    }
    return result;
}
