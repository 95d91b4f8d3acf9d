/* Who owns which bytes: every range of memory that the driver has handed out or been told of. */
#include "driver.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { ALIGNMENT = 512 };

static struct registry allocations = REGISTRY_EMPTY;
static atomic_size_t used[MODEL_MAX_DEVICES];

/* Asked by the stand-in NVML, so that both tell the same story: whether this process has a context on the device,
 * and how many bytes it holds there. Not a function of the API. */
EXPORT bool gdbcuda_standin_usage(int physical_device, size_t *bytes);
EXPORT bool gdbcuda_standin_usage(int physical_device, size_t *bytes)
{
    *bytes = used[physical_device];
    return context_count(physical_device) > 0;
}

CUresult device_charge(CUdevice device, size_t bytes)
{
    atomic_size_t *count = &used[device_physical(device)];
    size_t before = *count;

    do {
        RETURN_IF(bytes > model_memory() - before, CUDA_ERROR_OUT_OF_MEMORY);
    } while (!atomic_compare_exchange_weak(count, &before, before + bytes));
    return CUDA_SUCCESS;
}

void device_uncharge(CUdevice device, size_t bytes)
{
    used[device_physical(device)] -= bytes;
}

size_t device_used(CUdevice device)
{
    return used[device_physical(device)];
}

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool is_of_others(const struct allocation *allocation)
{
    return allocation->kind == MEMORY_OPENED || allocation->kind == MEMORY_IMPORTED;
}

static bool owns_pages(const struct allocation *allocation)
{
    return allocation->kind != MEMORY_REGISTERED && allocation->kind != MEMORY_MAPPED && !is_of_others(allocation) &&
           !allocation->graph_memory;
}

bool allocation_on_device(const struct allocation *allocation)
{
    return allocation->kind == MEMORY_DEVICE || allocation->kind == MEMORY_INTERNAL ||
           allocation->kind == MEMORY_MAPPED || is_of_others(allocation);
}

bool allocation_on_host(const struct allocation *allocation)
{
    return allocation->kind == MEMORY_HOST || allocation->kind == MEMORY_REGISTERED;
}

CUresult allocate_at(enum memory_kind kind, void *address, size_t bytes, struct allocation **made)
{
    struct allocation *allocation = calloc(1, sizeof *allocation);

    RETURN_IF(!allocation, CUDA_ERROR_OUT_OF_MEMORY);
    allocation->entry = (struct entry){(uintptr_t)address, bytes};
    allocation->kind = kind;
    allocation->context = handle_get(context_current(), HANDLE_CONTEXT);
    allocation->device = allocation->context ? allocation->context->device : 0;
    allocation->id = next_id();
    if (!registry_add(&allocations, &allocation->entry)) {
        free(allocation);
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    *made = allocation;
    return CUDA_SUCCESS;
}

static CUresult allocate_charged(enum memory_kind kind, size_t bytes, struct allocation **made)
{
    void *pages = arena_allocate(bytes);

    RETURN_IF(!pages, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = allocate_at(kind, pages, bytes, made);
    if (result != CUDA_SUCCESS)
        arena_free(pages, bytes);
    return result;
}

CUresult allocate(enum memory_kind kind, size_t bytes, struct allocation **made)
{
    size_t charge = kind == MEMORY_DEVICE || kind == MEMORY_INTERNAL ? rounded(bytes) : 0;

    RETURN_IF(bytes > SIZE_MAX / 2, CUDA_ERROR_OUT_OF_MEMORY);
    if (charge)
        TRY(device_charge(context_device(), charge));
    CUresult result = allocate_charged(kind, bytes, made);
    if (result == CUDA_SUCCESS)
        (*made)->charged = charge;
    else if (charge)
        device_uncharge(context_device(), charge);
    return result;
}

static void end(struct allocation *allocation)
{
    if (allocation->charged)
        device_uncharge(allocation->device, allocation->charged);
    CUmemoryPool pool = handle_get(allocation->pool, HANDLE_POOL);
    if (pool)
        pool_count(pool, -(long long)allocation->charged);
    if (allocation->graph_memory)
        graph_memory_empty(allocation->graph_memory);
    if (is_of_others(allocation))
        shared_end(allocation->entry.start);
    if (allocation->kind == MEMORY_DEVICE)
        shared_forget(allocation);
    if (owns_pages(allocation))
        arena_free((void *)allocation->entry.start, allocation->entry.size);
    free(allocation);
}

static bool of_kind(const struct entry *entry, const void *kind)
{
    return ((const struct allocation *)entry)->kind == *(const enum memory_kind *)kind;
}

static bool of_context(const struct entry *entry, const void *context)
{
    return ((const struct allocation *)entry)->context == context;
}

CUresult allocation_free(uintptr_t start, enum memory_kind kind)
{
    struct entry *entry = registry_take(&allocations, start, of_kind, &kind);

    INVALID_IF(!entry);
    end((struct allocation *)entry);
    return CUDA_SUCCESS;
}

void allocation_free_all_of(CUcontext context)
{
    struct entry *entry;

    while ((entry = registry_take_any(&allocations, of_context, context)))
        end((struct allocation *)entry);
}

struct allocation *allocation_at(uintptr_t address)
{
    return (struct allocation *)registry_find(&allocations, address);
}

/* Mappings side by side are one room; two allocations that happen to touch are not. */
bool allocation_covers(CUdeviceptr address, size_t bytes)
{
    if (!bytes)
        return true;
    for (CUdeviceptr end = address + bytes; address < end;) {
        const struct allocation *allocation = allocation_at(address);
        if (!allocation)
            return false;
        size_t rest = allocation->entry.start + allocation->entry.size - address;
        if (rest >= end - address)
            return true;
        if (allocation->kind != MEMORY_MAPPED)
            return false;
        address += rest;
    }
    return false; /* the end is not above the start: the size is beyond all addresses */
}
