/* Virtual memory management: addresses are reserved, physical memory is made, and the one is mapped to the other.
 * Physical memory is a file without a name, so that mapping it twice shows the same bytes. */
#include "driver.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULARITY = 2 << 20 };

struct physical {
    struct entry entry;
    CUmemAllocationProp properties;
    size_t size;
    int file;
    int users; /* the handle and every mapping */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registry reservations = REGISTRY_EMPTY, physicals = REGISTRY_EMPTY;

static bool granular(size_t size)
{
    return size && size % GRANULARITY == 0;
}

static CUresult check_properties(const CUmemAllocationProp *prop)
{
    INVALID_IF(!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED);
    RETURN_IF(prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    RETURN_IF(!device_valid(prop->location.id), CUDA_ERROR_INVALID_DEVICE);
    return CUDA_SUCCESS;
}

static struct physical *physical_get(CUmemGenericAllocationHandle handle)
{
    return (struct physical *)registry_find(&physicals, handle);
}

static CUresult physical_new(struct physical **made, size_t size, const CUmemAllocationProp *prop, int file)
{
    struct physical *physical = calloc(1, sizeof *physical);

    RETURN_IF(!physical, CUDA_ERROR_OUT_OF_MEMORY);
    *physical = (struct physical){{(uintptr_t)physical, 1}, *prop, size, file, 1};
    if (!registry_add(&physicals, &physical->entry)) {
        free(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = physical;
    return CUDA_SUCCESS;
}

/* Call with the lock held. */
static void drop_user(struct physical *physical)
{
    if (--physical->users)
        return;
    registry_take(&physicals, physical->entry.start, NULL, NULL);
    device_uncharge(physical->properties.location.id, physical->size);
    close(physical->file);
    free(physical);
}

DRIVER_INIT(cuMemGetAllocationGranularity)(size_t *granularity, const CUmemAllocationProp *prop,
                                           CUmemAllocationGranularity_flags option)
{
    INVALID_IF(!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    TRY(check_properties(prop));
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop)
{
    struct physical *physical;
    int file = memfd_create("gdbcuda-standin", MFD_CLOEXEC);

    RETURN_IF(file < 0, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = ftruncate(file, (off_t)size) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = physical_new(&physical, size, prop, file);
    if (result == CUDA_SUCCESS)
        *handle = physical->entry.start;
    else
        close(file);
    return result;
}

DRIVER_INIT(cuMemCreate)(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                         unsigned long long flags)
{
    INVALID_IF(!handle || flags || !granular(size));
    TRY(check_properties(prop));
    TRY(device_charge(prop->location.id, size));
    CUresult result = create(handle, size, prop);
    if (result != CUDA_SUCCESS)
        device_uncharge(prop->location.id, size);
    return result;
}

DRIVER_INIT(cuMemRelease)(CUmemGenericAllocationHandle handle)
{
    pthread_mutex_lock(&lock);
    struct physical *physical = physical_get(handle);
    if (physical)
        drop_user(physical);
    pthread_mutex_unlock(&lock);
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_INIT(cuMemAddressReserve)(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                 unsigned long long flags)
{
    INVALID_IF(!ptr || flags || !granular(size) || (alignment & (alignment - 1)) || alignment > GRANULARITY);
    struct entry *entry = calloc(1, sizeof *entry);
    RETURN_IF(!entry, CUDA_ERROR_OUT_OF_MEMORY);
    char *room = mmap((void *)addr, size + GRANULARITY, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        free(entry);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    uintptr_t start = ((uintptr_t)room + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
    *entry = (struct entry){start, size};
    if (!registry_add(&reservations, entry))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ptr = start;
    return CUDA_SUCCESS;
}

static bool of_size(const struct entry *entry, const void *size)
{
    return entry->size == *(const size_t *)size;
}

DRIVER_INIT(cuMemAddressFree)(CUdeviceptr ptr, size_t size)
{
    const struct allocation *mapped = allocation_at(ptr);

    INVALID_IF(mapped && mapped->kind == MEMORY_MAPPED);
    struct entry *entry = registry_take(&reservations, ptr, of_size, &size);
    INVALID_IF(!entry);
    munmap((void *)ptr, size);
    free(entry);
    return CUDA_SUCCESS;
}

static bool reserved(CUdeviceptr address, size_t size)
{
    const struct entry *entry = registry_find(&reservations, address);

    return entry && size <= entry->size - (address - entry->start);
}

static CUresult map(CUdeviceptr ptr, size_t size, struct physical *physical)
{
    struct allocation *allocation;

    INVALID_IF(!physical || size > physical->size);
    TRY(allocate_at(MEMORY_MAPPED, (void *)ptr, size, &allocation));
    allocation->context = NULL; /* it outlives contexts */
    allocation->device = physical->properties.location.id;
    allocation->physical = physical;
    physical->users++;
    mmap((void *)ptr, size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemMap)(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    INVALID_IF(flags || offset || !granular(size) || !reserved(ptr, size));
    pthread_mutex_lock(&lock);
    CUresult result = map(ptr, size, physical_get(handle));
    pthread_mutex_unlock(&lock);
    return result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ? CUDA_ERROR_INVALID_VALUE : result;
}

static void unmap_one(const struct allocation *mapped)
{
    const struct entry range = mapped->entry;

    drop_user(mapped->physical);
    allocation_free(range.start, MEMORY_MAPPED);
    mmap((void *)range.start, range.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* The mapping that starts at the address and ends inside `room` bytes; NULL when there is none. */
static const struct allocation *whole_mapping(CUdeviceptr address, size_t room)
{
    const struct allocation *mapped = allocation_at(address);

    if (!mapped || mapped->kind != MEMORY_MAPPED || mapped->entry.start != address || mapped->entry.size > room)
        return NULL;
    return mapped;
}

DRIVER_INIT(cuMemUnmap)(CUdeviceptr ptr, size_t size)
{
    CUresult result = granular(size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

    pthread_mutex_lock(&lock);
    for (CUdeviceptr at = ptr; result == CUDA_SUCCESS && at < ptr + size;) {
        const struct allocation *mapped = whole_mapping(at, ptr + size - at);
        at += mapped ? mapped->entry.size : GRANULARITY;
        if (mapped)
            unmap_one(mapped);
        else if (allocation_at(at - GRANULARITY))
            result = CUDA_ERROR_INVALID_VALUE; /* it would be cut in two; where nothing is mapped all is well */
    }
    pthread_mutex_unlock(&lock);
    return result;
}

DRIVER_INIT(cuMemSetAccess)(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    INVALID_IF(!desc || !count || !granular(size) || !allocation_covers(ptr, size));
    int protection = PROT_NONE;
    for (size_t i = 0; i < count; i++) {
        RETURN_IF(!device_valid(desc[i].location.id), CUDA_ERROR_INVALID_DEVICE);
        if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            protection |= PROT_READ | PROT_WRITE;
        else if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            protection |= PROT_READ;
    }
    return mprotect((void *)ptr, size, protection) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

DRIVER_INIT(cuMemGetAllocationPropertiesFromHandle)(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    const struct physical *physical = physical_get(handle);

    INVALID_IF(!prop || !physical);
    *prop = physical->properties;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle *handle, void *addr)
{
    INVALID_IF(!handle);
    pthread_mutex_lock(&lock);
    struct allocation *mapped = allocation_at((uintptr_t)addr);
    bool found = mapped && mapped->kind == MEMORY_MAPPED;
    if (found) {
        mapped->physical->users++;
        *handle = mapped->physical->entry.start;
    }
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_INIT(cuMemExportToShareableHandle)(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType handleType, unsigned long long flags)
{
    const struct physical *physical = physical_get(handle);

    INVALID_IF(!shareableHandle || flags || !physical);
    RETURN_IF(handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    INVALID_IF(!(physical->properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    *(int *)shareableHandle = dup(physical->file);
    return CUDA_SUCCESS;
}
