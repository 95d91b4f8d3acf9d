/* Memory that graphs allocate: an address from the moment that the node is added, memory behind it from the launch to
 * the free. What was taken for it stays with the device until cuDeviceGraphMemTrim (so does it on an H100 with driver
 * 580). */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    size_t used, reserved, high; /* bytes */
} kept_back[MODEL_MAX_DEVICES];

static size_t whole(size_t bytes)
{
    return (bytes + PHYSICAL_GRANULARITY - 1) / PHYSICAL_GRANULARITY * PHYSICAL_GRANULARITY;
}

struct graph_memory *graph_memory_new(const CUDA_MEM_ALLOC_NODE_PARAMS *wanted)
{
    struct graph_memory *memory = calloc(1, sizeof *memory);
    void *start = memory ? arena_reserve(NULL, whole(wanted->bytesize)) : NULL;

    if (!start) {
        free(memory);
        return NULL;
    }
    memory->users = 1;
    memory->wanted = *wanted;
    memory->wanted.dptr = (CUdeviceptr)start;
    return memory;
}

void graph_memory_hold(struct graph_memory *memory)
{
    __atomic_add_fetch(&memory->users, 1, __ATOMIC_SEQ_CST);
}

void graph_memory_drop(struct graph_memory *memory)
{
    if (__atomic_sub_fetch(&memory->users, 1, __ATOMIC_SEQ_CST))
        return;
    arena_release((void *)memory->wanted.dptr, whole(memory->wanted.bytesize));
    free(memory);
}

static CUresult reserve(CUdevice device, size_t bytes)
{
    pthread_mutex_lock(&lock);
    size_t needed = kept_back[device].used + bytes, reserved = kept_back[device].reserved;
    CUresult result = needed > reserved ? device_charge(device, needed - reserved) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS) {
        kept_back[device].used = needed;
        kept_back[device].reserved = needed > reserved ? needed : reserved;
        if (kept_back[device].high < kept_back[device].reserved)
            kept_back[device].high = kept_back[device].reserved;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static void give_back(CUdevice device, size_t bytes)
{
    pthread_mutex_lock(&lock);
    kept_back[device].used -= bytes;
    pthread_mutex_unlock(&lock);
}

CUresult graph_memory_fill(struct graph_memory *memory)
{
    CUdevice device = memory->wanted.poolProps.location.id;
    size_t bytes = whole(memory->wanted.bytesize);
    struct allocation *made;

    TRY(reserve(device, bytes));
    CUresult result = arena_fill((void *)memory->wanted.dptr, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = allocate_at(MEMORY_DEVICE, (void *)memory->wanted.dptr, memory->wanted.bytesize, &made);
    if (result != CUDA_SUCCESS) {
        give_back(device, bytes);
        return result;
    }
    made->graph_memory = memory;
    made->device = device;
    graph_memory_hold(memory);
    return CUDA_SUCCESS;
}

void graph_memory_empty(struct graph_memory *memory)
{
    arena_empty((void *)memory->wanted.dptr, whole(memory->wanted.bytesize));
    give_back(memory->wanted.poolProps.location.id, whole(memory->wanted.bytesize));
    graph_memory_drop(memory);
}

bool graph_memory_is_live(const struct graph_memory *memory)
{
    const struct allocation *found = allocation_at(memory->wanted.dptr);

    return found && found->graph_memory == memory;
}

DRIVER_INIT(cuDeviceGraphMemTrim)(CUdevice device)
{
    RETURN_IF(!device_valid(device), CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&lock);
    device_uncharge(device, kept_back[device].reserved - kept_back[device].used);
    kept_back[device].reserved = kept_back[device].used;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDeviceGetGraphMemAttribute)(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    RETURN_IF(!device_valid(device), CUDA_ERROR_INVALID_DEVICE);
    INVALID_IF(!value || (unsigned)attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
    bool is_high = attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    pthread_mutex_lock(&lock);
    *(cuuint64_t *)value = is_high ? kept_back[device].high : kept_back[device].reserved;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDeviceSetGraphMemAttribute)(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    RETURN_IF(!device_valid(device), CUDA_ERROR_INVALID_DEVICE);
    INVALID_IF(!value || *(cuuint64_t *)value);
    INVALID_IF(attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
    pthread_mutex_lock(&lock);
    kept_back[device].high = kept_back[device].reserved;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}
