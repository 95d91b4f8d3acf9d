/* Allocation and release: device, pitched, managed, page-locked and registered memory. */
#include "driver.h"

enum { PITCH = 512 };

DRIVER(cuMemGetInfo_v2)(size_t *free, size_t *total)
{
    if (total)
        *total = model_memory();
    if (free)
        *free = model_memory() - device_used(context_device());
    return CUDA_SUCCESS;
}

DRIVER(cuMemAlloc_v2)(CUdeviceptr *dptr, size_t bytesize)
{
    struct allocation *allocation;

    INVALID_IF(!dptr || !bytesize);
    TRY(not_while_capturing());
    TRY(allocate(MEMORY_DEVICE, bytesize, &allocation));
    *dptr = allocation->entry.start;
    return CUDA_SUCCESS;
}

DRIVER(cuMemAllocPitch_v2)(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                           unsigned int ElementSizeBytes)
{
    struct allocation *allocation;

    INVALID_IF(!dptr || !pPitch || !WidthInBytes || !Height);
    INVALID_IF(ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16);
    size_t pitch = (WidthInBytes + PITCH - 1) / PITCH * PITCH;
    RETURN_IF(pitch < WidthInBytes || pitch > SIZE_MAX / 2 / Height, CUDA_ERROR_OUT_OF_MEMORY);
    TRY(not_while_capturing());
    TRY(allocate(MEMORY_DEVICE, pitch * Height, &allocation));
    *dptr = allocation->entry.start;
    *pPitch = pitch;
    return CUDA_SUCCESS;
}

/* Managed memory is the host's here, so the device's size does not limit it: the real driver oversubscribes too. */
DRIVER(cuMemAllocManaged)(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct allocation *allocation;

    INVALID_IF(!dptr || !bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST));
    TRY(not_while_capturing());
    TRY(allocate(MEMORY_MANAGED, bytesize, &allocation));
    allocation->flags = flags;
    *dptr = allocation->entry.start;
    return CUDA_SUCCESS;
}

DRIVER(cuMemFree_v2)(CUdeviceptr dptr)
{
    if (!dptr || allocation_free(dptr, MEMORY_DEVICE) == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    return shared_close(dptr, MEMORY_IMPORTED) == CUDA_SUCCESS ? CUDA_SUCCESS : allocation_free(dptr, MEMORY_MANAGED);
}

static CUresult allocate_host(void **pp, size_t bytesize, unsigned flags)
{
    struct allocation *allocation;

    INVALID_IF(!pp);
    *pp = NULL;
    if (!bytesize)
        return CUDA_SUCCESS;
    TRY(allocate(MEMORY_HOST, bytesize, &allocation));
    allocation->flags = flags;
    *pp = (void *)allocation->entry.start;
    return CUDA_SUCCESS;
}

DRIVER(cuMemAllocHost_v2)(void **pp, size_t bytesize)
{
    return allocate_host(pp, bytesize, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
}

DRIVER(cuMemHostAlloc)(void **pp, size_t bytesize, unsigned int Flags)
{
    INVALID_IF(Flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                                   CU_MEMHOSTALLOC_WRITECOMBINED));
    return allocate_host(pp, bytesize, Flags | CU_MEMHOSTALLOC_DEVICEMAP);
}

DRIVER(cuMemFreeHost)(void *p)
{
    return p ? allocation_free((uintptr_t)p, MEMORY_HOST) : CUDA_SUCCESS;
}

DRIVER(cuMemHostRegister_v2)(void *p, size_t bytesize, unsigned int Flags)
{
    struct allocation *allocation;

    INVALID_IF(!p || !bytesize || Flags & ~(unsigned)(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                                      CU_MEMHOSTREGISTER_READ_ONLY));
    RETURN_IF(Flags & CU_MEMHOSTREGISTER_IOMEMORY, CUDA_ERROR_NOT_SUPPORTED);
    TRY(allocate_at(MEMORY_REGISTERED, p, bytesize, &allocation));
    allocation->flags = Flags | CU_MEMHOSTREGISTER_DEVICEMAP;
    return CUDA_SUCCESS;
}

DRIVER(cuMemHostUnregister)(void *p)
{
    INVALID_IF(!p);
    CUresult result = allocation_free((uintptr_t)p, MEMORY_REGISTERED);
    return result == CUDA_SUCCESS ? result : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

static const struct allocation *host_allocation(const void *p)
{
    const struct allocation *allocation = allocation_at((uintptr_t)p);

    return allocation && allocation_on_host(allocation) ? allocation : NULL;
}

DRIVER(cuMemHostGetDevicePointer_v2)(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    INVALID_IF(!pdptr || Flags || !host_allocation(p));
    *pdptr = (CUdeviceptr)p;
    return CUDA_SUCCESS;
}

DRIVER(cuMemHostGetFlags)(unsigned int *pFlags, void *p)
{
    INVALID_IF(!pFlags || !host_allocation(p));
    *pFlags = host_allocation(p)->flags;
    return CUDA_SUCCESS;
}

DRIVER(cuMemGetAddressRange_v2)(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    const struct allocation *allocation = allocation_at(dptr);

    RETURN_IF(!allocation || allocation_on_host(allocation), CUDA_ERROR_NOT_FOUND);
    if (pbase)
        *pbase = allocation->entry.start;
    if (psize)
        *psize = allocation->entry.size;
    return CUDA_SUCCESS;
}
