/* Memory pools and the allocations that streams order: taken and given back at once. */
#include "driver.h"

#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    CUmemoryPool first, current;
} pools[MODEL_MAX_DEVICES];

void pool_count(CUmemoryPool pool, long long bytes)
{
    pthread_mutex_lock(&lock);
    pool->used += (unsigned long long)bytes;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    pthread_mutex_unlock(&lock);
}

CUmemoryPool pool_new(CUdevice device)
{
    CUmemoryPool pool = handle_new(HANDLE_POOL, sizeof *pool, NULL, NULL);

    if (!pool)
        return NULL;
    pool->device = device;
    for (size_t i = 0; i < LENGTH(pool->reuse); i++)
        pool->reuse[i] = 1;
    return pool;
}

CUresult pool_default(CUdevice device, CUmemoryPool *pool)
{
    pthread_mutex_lock(&lock);
    if (!pools[device].first) {
        pools[device].first = pools[device].current = pool_new(device);
        if (pools[device].first)
            pools[device].first->is_default = true;
    }
    *pool = pools[device].first;
    pthread_mutex_unlock(&lock);
    return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult pool_current(CUdevice device, CUmemoryPool *pool)
{
    TRY(pool_default(device, pool));
    pthread_mutex_lock(&lock);
    *pool = pools[device].current;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDeviceGetDefaultMemPool)(CUmemoryPool *pool_out, CUdevice dev)
{
    INVALID_IF(!pool_out);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    return pool_default(dev, pool_out);
}

DRIVER_INIT(cuDeviceGetMemPool)(CUmemoryPool *pool, CUdevice dev)
{
    INVALID_IF(!pool);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    return pool_current(dev, pool);
}

DRIVER_INIT(cuDeviceSetMemPool)(CUdevice dev, CUmemoryPool pool)
{
    CUmemoryPool first;

    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    INVALID_IF(!handle_get(pool, HANDLE_POOL) || pool->device != dev);
    TRY(pool_default(dev, &first));
    pthread_mutex_lock(&lock);
    pools[dev].current = pool;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemPoolCreate)(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    INVALID_IF(!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED);
    RETURN_IF(poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    RETURN_IF(poolProps->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    RETURN_IF(!device_valid(poolProps->location.id), CUDA_ERROR_INVALID_DEVICE);
    *pool = pool_new(poolProps->location.id);
    RETURN_IF(!*pool, CUDA_ERROR_OUT_OF_MEMORY);
    (*pool)->handle_types = poolProps->handleTypes;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemPoolDestroy)(CUmemoryPool pool)
{
    INVALID_IF(!handle_get(pool, HANDLE_POOL) || pool->is_default);
    pthread_mutex_lock(&lock);
    if (pools[pool->device].current == pool)
        pools[pool->device].current = pools[pool->device].first;
    pthread_mutex_unlock(&lock);
    handle_close(pool, HANDLE_POOL);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemPoolTrimTo)(CUmemoryPool pool, size_t minBytesToKeep)
{
    (void)minBytesToKeep; /* nothing is ever kept back */
    return handle_get(pool, HANDLE_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER(cuMemAllocFromPoolAsync)(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    struct allocation *allocation;

    INVALID_IF(!dptr || !handle_get(pool, HANDLE_POOL) || pool->is_imported);
    TRY(stream_check(hStream));
    *dptr = 0;
    if (!bytesize)
        return CUDA_SUCCESS;
    if (is_captured(hStream))
        return capture_alloc(hStream, pool->device, bytesize, dptr);
    TRY(allocate(MEMORY_DEVICE, bytesize, &allocation));
    allocation->pool = pool;
    pool_count(pool, (long long)allocation->charged);
    *dptr = allocation->entry.start;
    return CUDA_SUCCESS;
}

DRIVER(cuMemAllocAsync)(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    CUmemoryPool pool;

    TRY(pool_current(context_device(), &pool));
    return do_cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream);
}

DRIVER(cuMemFreeAsync)(CUdeviceptr dptr, CUstream hStream)
{
    TRY(stream_check(hStream));
    return is_captured(hStream) ? capture_free(hStream, dptr) : do_cuMemFree_v2(dptr);
}

/* The setting that an attribute names, when it is one that takes an int. */
static int *reuse_setting(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    unsigned index = (unsigned)attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;

    return index < LENGTH(pool->reuse) ? &pool->reuse[index] : NULL;
}

static unsigned long long *counter(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return &pool->release_threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return &pool->used;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return &pool->used_high;
    default: return NULL;
    }
}

DRIVER_INIT(cuMemPoolGetAttribute)(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    INVALID_IF(!value || !handle_get(pool, HANDLE_POOL));
    if (reuse_setting(pool, attr))
        memcpy(value, reuse_setting(pool, attr), sizeof(int));
    else if (counter(pool, attr))
        memcpy(value, counter(pool, attr), sizeof(cuuint64_t));
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemPoolSetAttribute)(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    INVALID_IF(!value || !handle_get(pool, HANDLE_POOL));
    if (reuse_setting(pool, attr)) {
        memcpy(reuse_setting(pool, attr), value, sizeof(int));
        return CUDA_SUCCESS;
    }
    unsigned long long *stored = counter(pool, attr), wanted;
    INVALID_IF(!stored || stored == &pool->used);
    memcpy(&wanted, value, sizeof wanted);
    INVALID_IF(stored == &pool->used_high && wanted != 0); /* a high watermark can only be started again */
    *stored = wanted;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemPoolSetAccess)(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    INVALID_IF(!handle_get(pool, HANDLE_POOL) || (count && !map));
    for (size_t i = 0; i < count; i++)
        RETURN_IF(!device_valid(map[i].location.id), CUDA_ERROR_INVALID_DEVICE);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemPoolGetAccess)(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
    INVALID_IF(!flags || !location || !handle_get(memPool, HANDLE_POOL));
    RETURN_IF(!device_valid(location->id), CUDA_ERROR_INVALID_DEVICE);
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}
