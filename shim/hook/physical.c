/* Physical memory of virtual memory management: it lives until its last handle is released and its last mapping is
   gone, so that is when it is given back to the limit. Memory that another process has made does not count here. */
#include <pthread.h>
#include <stdlib.h>

#include "limit.h"

struct physical {
    uint64_t handle; /* cuMemRetainAllocationHandle gives the same one again */
    CUdevice device;
    size_t bytes;
    unsigned handles, mappings;
    struct physical *next;
};

struct mapping {
    CUdeviceptr start;
    size_t size;
    struct physical *physical; /* NULL: not counted */
    struct mapping *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct physical *physicals;
static struct mapping *mappings;

static void lock_all(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_all(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void keep_lock_over_fork(void)
{
    pthread_atfork(lock_all, unlock_all, unlock_all);
}

/* The driver may hand out the value of a released handle again, while mappings keep the memory of the first. */
static struct physical *find(uint64_t handle)
{
    struct physical *physical = physicals;
    while (physical && (physical->handle != handle || !physical->handles))
        physical = physical->next;
    return physical;
}

static void forget_if_unused(struct physical *physical)
{
    if (physical->handles || physical->mappings)
        return;
    struct physical **link = &physicals;
    while (*link != physical)
        link = &(*link)->next;
    *link = physical->next;
    limit_give_back(physical->device, physical->bytes);
    free(physical);
}

/* Call with the lock held. */
static void drop(struct physical *physical, unsigned *count)
{
    if (!physical)
        return;
    --*count;
    forget_if_unused(physical);
}

/* Out of host memory: it stays counted for good, as in the ledger. */
void physical_add(uint64_t handle, CUdevice device, size_t bytes)
{
    struct physical *physical = malloc(sizeof *physical);
    if (!physical)
        return;
    lock_all();
    *physical = (struct physical){handle, device, bytes, 1, 0, physicals};
    physicals = physical;
    unlock_all();
}

/* The handle is taken away before the driver is asked: another thread may be given it as soon as it is free. What it
   was of stays, kept as if it were mapped. */
HOOK CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    lock_all();
    struct physical *physical = find(handle);
    if (physical) {
        physical->handles--;
        physical->mappings++;
    }
    unlock_all();
    CUresult result = FORWARD(cuMemRelease, handle);
    lock_all();
    if (physical && result != CUDA_SUCCESS)
        physical->handles++;
    drop(physical, physical ? &physical->mappings : NULL);
    unlock_all();
    return result;
}

static struct physical *hold(uint64_t handle)
{
    lock_all();
    struct physical *physical = find(handle);
    if (physical)
        physical->mappings++;
    unlock_all();
    return physical;
}

HOOK CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                       unsigned long long flags)
{
    struct mapping *mapping = malloc(sizeof *mapping);
    struct physical *physical = hold(handle);
    CUresult result = FORWARD(cuMemMap, ptr, size, offset, handle, flags);
    lock_all();
    if (result == CUDA_SUCCESS && mapping) {
        *mapping = (struct mapping){ptr, size, physical, mappings};
        mappings = mapping;
        mapping = NULL;
    } else if (result != CUDA_SUCCESS) {
        drop(physical, physical ? &physical->mappings : NULL);
    }
    unlock_all();
    free(mapping);
    return result;
}

static struct mapping *take(CUdeviceptr start, size_t size)
{
    struct mapping *taken = NULL;
    lock_all();
    for (struct mapping **link = &mappings; *link;) {
        struct mapping *mapping = *link;
        if (mapping->start < start || mapping->start - start >= size) {
            link = &mapping->next;
            continue;
        }
        *link = mapping->next;
        mapping->next = taken;
        taken = mapping;
    }
    unlock_all();
    return taken;
}

static void put_back(struct mapping *taken)
{
    while (taken) {
        struct mapping *next = taken->next;
        taken->next = mappings;
        mappings = taken;
        taken = next;
    }
}

static void forget(struct mapping *taken)
{
    while (taken) {
        struct mapping *next = taken->next;
        drop(taken->physical, taken->physical ? &taken->physical->mappings : NULL);
        free(taken);
        taken = next;
    }
}

HOOK CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    struct mapping *taken = take(ptr, size);
    CUresult result = FORWARD(cuMemUnmap, ptr, size);
    lock_all();
    if (result == CUDA_SUCCESS)
        forget(taken);
    else
        put_back(taken);
    unlock_all();
    return result;
}

static struct physical *mapped_at(CUdeviceptr address)
{
    struct mapping *mapping = mappings;
    while (mapping && (address < mapping->start || address - mapping->start >= mapping->size))
        mapping = mapping->next;
    return mapping ? mapping->physical : NULL;
}

HOOK CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    CUresult result = FORWARD(cuMemRetainAllocationHandle, handle, addr);
    if (result != CUDA_SUCCESS)
        return result;
    lock_all();
    struct physical *physical = mapped_at((CUdeviceptr)addr);
    if (physical) {
        physical->handle = *handle;
        physical->handles++;
    }
    unlock_all();
    return result;
}
