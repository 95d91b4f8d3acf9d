/* Memory pools. Properties, attributes and access descriptions have the driver's layout and numbers. */
#include "runtime.h"

RUNTIME(cudaMallocAsync)(void **devPtr, size_t size, cudaStream_t hStream)
{
    INVALID_IF(!devPtr);
    *devPtr = NULL;
    return size ? FROM_DRIVER(driver.cuMemAllocAsync((CUdeviceptr *)devPtr, size, hStream)) : cudaSuccess;
}

RUNTIME(cudaFreeAsync)(void *devPtr, cudaStream_t hStream)
{
    return devPtr ? FROM_DRIVER(driver.cuMemFreeAsync((CUdeviceptr)devPtr, hStream)) : cudaSuccess;
}

RUNTIME(cudaMallocFromPoolAsync)(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    INVALID_IF(!ptr);
    return FROM_DRIVER(driver.cuMemAllocFromPoolAsync((CUdeviceptr *)ptr, size, memPool, stream));
}

RUNTIME_INIT(cudaDeviceGetDefaultMemPool)(cudaMemPool_t *memPool, int device)
{
    return FROM_DRIVER(driver.cuDeviceGetDefaultMemPool(memPool, device));
}

RUNTIME_INIT(cudaDeviceGetMemPool)(cudaMemPool_t *memPool, int device)
{
    return FROM_DRIVER(driver.cuDeviceGetMemPool(memPool, device));
}

RUNTIME_INIT(cudaDeviceSetMemPool)(int device, cudaMemPool_t memPool)
{
    return FROM_DRIVER(driver.cuDeviceSetMemPool(device, memPool));
}

RUNTIME_INIT(cudaMemPoolCreate)(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
    return FROM_DRIVER(driver.cuMemPoolCreate(memPool, (const CUmemPoolProps *)poolProps));
}

RUNTIME_INIT(cudaMemPoolDestroy)(cudaMemPool_t memPool)
{
    return FROM_DRIVER(driver.cuMemPoolDestroy(memPool));
}

RUNTIME_INIT(cudaMemPoolTrimTo)(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    return FROM_DRIVER(driver.cuMemPoolTrimTo(memPool, minBytesToKeep));
}

RUNTIME_INIT(cudaMemPoolGetAttribute)(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    return FROM_DRIVER(driver.cuMemPoolGetAttribute(memPool, (CUmemPool_attribute)attr, value));
}

RUNTIME_INIT(cudaMemPoolSetAttribute)(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    return FROM_DRIVER(driver.cuMemPoolSetAttribute(memPool, (CUmemPool_attribute)attr, value));
}

RUNTIME_INIT(cudaMemPoolSetAccess)(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count)
{
    return FROM_DRIVER(driver.cuMemPoolSetAccess(memPool, (const CUmemAccessDesc *)descList, count));
}

RUNTIME_INIT(cudaMemPoolGetAccess)(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                   struct cudaMemLocation *location)
{
    return FROM_DRIVER(driver.cuMemPoolGetAccess((CUmemAccess_flags *)flags, memPool, (CUmemLocation *)location));
}
