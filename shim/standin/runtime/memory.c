/* Allocation and release. */
#include "runtime.h"

#include <string.h>

/* Nothing asked for, nothing given: a success with NULL, and the driver is not bothered. */
RUNTIME(cudaMalloc)(void **devPtr, size_t size)
{
    INVALID_IF(!devPtr);
    *devPtr = NULL;
    return size ? FROM_DRIVER(driver.cuMemAlloc_v2((CUdeviceptr *)devPtr, size)) : cudaSuccess;
}

RUNTIME(cudaFree)(void *devPtr)
{
    return devPtr ? FROM_DRIVER(driver.cuMemFree_v2((CUdeviceptr)devPtr)) : cudaSuccess;
}

RUNTIME(cudaMallocPitch)(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    INVALID_IF(!devPtr || !pitch);
    *devPtr = NULL;
    *pitch = 0;
    if (!width || !height)
        return cudaSuccess;
    return FROM_DRIVER(driver.cuMemAllocPitch_v2((CUdeviceptr *)devPtr, pitch, width, height, 4));
}

RUNTIME(cudaMalloc3D)(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    INVALID_IF(!pitchedDevPtr);
    *pitchedDevPtr = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
    if (!extent.width || !extent.height || !extent.depth)
        return cudaSuccess;
    return FROM_DRIVER(driver.cuMemAllocPitch_v2((CUdeviceptr *)&pitchedDevPtr->ptr, &pitchedDevPtr->pitch,
                                                 extent.width, extent.height * extent.depth, 4));
}

RUNTIME(cudaMallocManaged)(void **devPtr, size_t size, unsigned int flags)
{
    INVALID_IF(!devPtr);
    *devPtr = NULL;
    return size ? FROM_DRIVER(driver.cuMemAllocManaged((CUdeviceptr *)devPtr, size, flags)) : cudaSuccess;
}

RUNTIME(cudaMallocHost)(void **ptr, size_t size)
{
    INVALID_IF(!ptr);
    *ptr = NULL;
    return size ? FROM_DRIVER(driver.cuMemHostAlloc(ptr, size, 0)) : cudaSuccess;
}

RUNTIME(cudaHostAlloc)(void **pHost, size_t size, unsigned int flags)
{
    INVALID_IF(!pHost);
    *pHost = NULL;
    return size ? FROM_DRIVER(driver.cuMemHostAlloc(pHost, size, flags)) : cudaSuccess;
}

RUNTIME(cudaFreeHost)(void *ptr)
{
    return ptr ? FROM_DRIVER(driver.cuMemFreeHost(ptr)) : cudaSuccess;
}

RUNTIME(cudaHostRegister)(void *ptr, size_t size, unsigned int flags)
{
    return FROM_DRIVER(driver.cuMemHostRegister_v2(ptr, size, flags));
}

RUNTIME(cudaHostUnregister)(void *ptr)
{
    return FROM_DRIVER(driver.cuMemHostUnregister(ptr));
}

RUNTIME(cudaHostGetDevicePointer)(void **pDevice, void *pHost, unsigned int flags)
{
    return FROM_DRIVER(driver.cuMemHostGetDevicePointer_v2((CUdeviceptr *)pDevice, pHost, flags));
}

RUNTIME(cudaHostGetFlags)(unsigned int *pFlags, void *pHost)
{
    return FROM_DRIVER(driver.cuMemHostGetFlags(pFlags, pHost));
}

RUNTIME(cudaMemGetInfo)(size_t *free, size_t *total)
{
    return FROM_DRIVER(driver.cuMemGetInfo_v2(free, total));
}

static enum cudaMemoryType type_of(unsigned driver_type, unsigned managed)
{
    if (managed)
        return cudaMemoryTypeManaged;
    switch (driver_type) {
    case CU_MEMORYTYPE_HOST: return cudaMemoryTypeHost;
    case CU_MEMORYTYPE_DEVICE: return cudaMemoryTypeDevice;
    default: return cudaMemoryTypeUnregistered;
    }
}

RUNTIME(cudaPointerGetAttributes)(struct cudaPointerAttributes *attributes, const void *ptr)
{
    unsigned type = 0;
    unsigned char managed = 0;
    int device = 0;
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
    };

    INVALID_IF(!attributes);
    memset(attributes, 0, sizeof *attributes);
    void *answers[] = {&type, &managed, &device, &attributes->devicePointer, &attributes->hostPointer};
    TRY_DRIVER(driver.cuPointerGetAttributes(LENGTH(wanted), wanted, answers, (CUdeviceptr)ptr));
    attributes->type = type_of(type, managed);
    attributes->device = device;
    if (attributes->type == cudaMemoryTypeUnregistered)
        attributes->hostPointer = (void *)ptr;
    return cudaSuccess;
}

#if CUDART_VERSION >= 13000
RUNTIME(cudaMemPrefetchAsync)(const void *devPtr, size_t count, struct cudaMemLocation location, unsigned int flags,
                              cudaStream_t stream)
#else
RUNTIME(cudaMemPrefetchAsync_v2)(const void *devPtr, size_t count, struct cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream)
#endif
{
    CUmemLocation place = {.type = (CUmemLocationType)location.type, .id = location.id};

    return FROM_DRIVER(driver.cuMemPrefetchAsync_v2((CUdeviceptr)devPtr, count, place, flags, stream));
}

#if CUDART_VERSION >= 13000
RUNTIME(cudaMemAdvise)(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                       struct cudaMemLocation location)
#else
RUNTIME(cudaMemAdvise_v2)(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location)
#endif
{
    CUmemLocation place = {.type = (CUmemLocationType)location.type, .id = location.id};

    return FROM_DRIVER(driver.cuMemAdvise_v2((CUdeviceptr)devPtr, count, (CUmem_advise)advice, place));
}

#if CUDART_VERSION < 13000
RUNTIME(cudaMemPrefetchAsync)(const void *devPtr, size_t count, int dstDevice, cudaStream_t stream)
{
    return FROM_DRIVER(driver.cuMemPrefetchAsync((CUdeviceptr)devPtr, count, dstDevice, stream));
}

RUNTIME(cudaMemAdvise)(const void *devPtr, size_t count, enum cudaMemoryAdvise advice, int device)
{
    return FROM_DRIVER(driver.cuMemAdvise((CUdeviceptr)devPtr, count, (CUmem_advise)advice, device));
}
#endif
