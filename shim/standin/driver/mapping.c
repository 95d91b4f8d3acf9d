/* Addresses without memory, and the mapping of physical memory to them. */
#include "driver.h"

#include <stdlib.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registry reservations = REGISTRY_EMPTY;

/* More than asked for is taken, so that an aligned part of it can be kept. 0: not there. */
static CUdeviceptr map_addresses(CUdeviceptr wish, size_t size)
{
    size_t whole = size + PHYSICAL_GRANULARITY;
    char *room = mmap((void *)wish, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room == MAP_FAILED)
        return 0;
    CUdeviceptr start = ((CUdeviceptr)room + PHYSICAL_GRANULARITY - 1) / PHYSICAL_GRANULARITY * PHYSICAL_GRANULARITY;
    size_t before = start - (CUdeviceptr)room;
    if ((CUdeviceptr)room != wish) {
        munmap(room, whole);
        return 0;
    }
    if (before)
        munmap(room, before);
    munmap((void *)(start + size), whole - before - size);
    arena_empty((void *)start, size);
    return start;
}

/* Where the program wishes them, if that can be: in the arena or outside of it. */
static CUdeviceptr take_addresses(CUdeviceptr wish, size_t size)
{
    CUdeviceptr found = (CUdeviceptr)arena_reserve((void *)wish, size);

    if (!found && wish)
        found = map_addresses(wish / 4096 * 4096, size);
    return found || !wish ? found : (CUdeviceptr)arena_reserve(NULL, size);
}

DRIVER_INIT(cuMemAddressReserve)(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                 unsigned long long flags)
{
    INVALID_IF(!ptr || flags || !physical_granular(size));
    INVALID_IF((alignment & (alignment - 1)) || alignment > PHYSICAL_GRANULARITY);
    struct entry *entry = calloc(1, sizeof *entry);
    RETURN_IF(!entry, CUDA_ERROR_OUT_OF_MEMORY);
    *entry = (struct entry){take_addresses(addr, size), size};
    if (!entry->start || !registry_add(&reservations, entry)) {
        free(entry);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ptr = entry->start;
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
    if (!arena_release((void *)ptr, size))
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
    physical_hold(physical);
    mmap((void *)ptr, size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemMap)(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    INVALID_IF(flags || offset || !physical_granular(size) || !reserved(ptr, size));
    pthread_mutex_lock(&lock);
    CUresult result = map(ptr, size, physical_get(handle));
    pthread_mutex_unlock(&lock);
    return result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ? CUDA_ERROR_INVALID_VALUE : result;
}

static void unmap_one(const struct allocation *mapped)
{
    const struct entry range = mapped->entry;

    physical_drop(mapped->physical);
    allocation_free(range.start, MEMORY_MAPPED);
    arena_empty((void *)range.start, range.size);
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
    CUresult result = physical_granular(size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

    pthread_mutex_lock(&lock);
    for (CUdeviceptr at = ptr; result == CUDA_SUCCESS && at < ptr + size;) {
        const struct allocation *mapped = whole_mapping(at, ptr + size - at);
        at += mapped ? mapped->entry.size : PHYSICAL_GRANULARITY;
        if (mapped)
            unmap_one(mapped);
        else if (allocation_at(at - PHYSICAL_GRANULARITY))
            result = CUDA_ERROR_INVALID_VALUE; /* it would be cut in two; where nothing is mapped all is well */
    }
    pthread_mutex_unlock(&lock);
    return result;
}

DRIVER_INIT(cuMemSetAccess)(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    INVALID_IF(!desc || !count || !physical_granular(size) || !allocation_covers(ptr, size));
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

DRIVER_INIT(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle *handle, void *addr)
{
    INVALID_IF(!handle);
    pthread_mutex_lock(&lock);
    struct allocation *mapped = allocation_at((uintptr_t)addr);
    bool found = mapped && mapped->kind == MEMORY_MAPPED;
    if (found) {
        physical_retain(mapped->physical);
        *handle = mapped->physical->entry.start;
    }
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

