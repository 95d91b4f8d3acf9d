#include "activities.h"
#include "causes.h"
#include "cupti_library.h"
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER = 4 << 20, TRIES = 5 };

int activities_managed;

#define PLACED(KIND, one)                                                                                              \
    [GPU_##KIND##_START] = (one)->start, [GPU_##KIND##_END] = (one)->end,                                              \
    [GPU_##KIND##_CORRELATION] = (one)->correlationId, [GPU_##KIND##_DEVICE] = (one)->deviceId,                        \
    [GPU_##KIND##_CONTEXT] = (one)->contextId, [GPU_##KIND##_STREAM] = (one)->streamId
#define IN_GRAPH(KIND, one) [GPU_##KIND##_NODE] = (one)->graphNodeId, [GPU_##KIND##_GRAPH] = (one)->graphId
#define ADD(KIND, ...) records_add(GPU_##KIND, (word[GPU_##KIND##_SIZE]){__VA_ARGS__}, GPU_##KIND##_SIZE)

static void add_kernel(const CUPTI_KERNEL *one)
{
    word name = records_name(one->name);
    ADD(KERNEL, PLACED(KERNEL, one), IN_GRAPH(KERNEL, one), [GPU_KERNEL_NAME] = name,
        [GPU_KERNEL_GRID] = (word)one->gridX, [GPU_KERNEL_GRID + 1] = (word)one->gridY,
        [GPU_KERNEL_GRID + 2] = (word)one->gridZ, [GPU_KERNEL_BLOCK] = (word)one->blockX,
        [GPU_KERNEL_BLOCK + 1] = (word)one->blockY, [GPU_KERNEL_BLOCK + 2] = (word)one->blockZ,
        [GPU_KERNEL_REGISTERS] = one->registersPerThread,
        [GPU_KERNEL_STATIC_SHARED] = (word)one->staticSharedMemory,
        [GPU_KERNEL_DYNAMIC_SHARED] = (word)one->dynamicSharedMemory, [GPU_KERNEL_LOCAL] = one->localMemoryPerThread);
}

#define COPIED(one)                                                                                                    \
    PLACED(COPY, one), IN_GRAPH(COPY, one), [GPU_COPY_BYTES] = (one)->bytes, [GPU_COPY_WAY] = (one)->copyKind,         \
                       [GPU_COPY_FROM] = (one)->srcKind, [GPU_COPY_TO] = (one)->dstKind,                               \
                       [GPU_COPY_IS_ASYNC] = (one)->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC

static void add_copy(const CUPTI_COPY *one)
{
    ADD(COPY, COPIED(one));
}

static void add_copy_between(const CUPTI_COPY_BETWEEN *one)
{
    ADD(COPY, COPIED(one), [GPU_COPY_IS_BETWEEN] = 1, [GPU_COPY_SOURCE] = one->srcDeviceId,
        [GPU_COPY_TARGET] = one->dstDeviceId);
}

static void add_fill(const CUPTI_FILL *one)
{
    ADD(FILL, PLACED(FILL, one), IN_GRAPH(FILL, one), [GPU_FILL_BYTES] = one->bytes, [GPU_FILL_VALUE] = one->value,
        [GPU_FILL_MEMORY] = one->memoryKind);
}

static void add_wait(const CUPTI_WAIT *one)
{
    ADD(WAIT, [GPU_WAIT_START] = one->start, [GPU_WAIT_END] = one->end, [GPU_WAIT_CORRELATION] = one->correlationId,
        [GPU_WAIT_CONTEXT] = one->contextId, [GPU_WAIT_STREAM] = one->streamId, [GPU_WAIT_TYPE] = one->type,
        [GPU_WAIT_EVENT] = one->cudaEventId);
}

static void add_memory(const CUPTI_MEMORY *one)
{
    if (one->memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED)
        __atomic_store_n(&activities_managed, 1, __ATOMIC_SEQ_CST);
    if (one->memoryPoolConfig.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID)
        return; /* the calls tell as much */
    ADD(MEMORY, [GPU_MEMORY_START] = one->timestamp, [GPU_MEMORY_END] = one->timestamp,
        [GPU_MEMORY_CORRELATION] = one->correlationId, [GPU_MEMORY_DEVICE] = one->deviceId,
        [GPU_MEMORY_CONTEXT] = one->contextId, [GPU_MEMORY_STREAM] = one->streamId,
        [GPU_MEMORY_OPERATION] = one->memoryOperationType, [GPU_MEMORY_ADDRESS] = one->address,
        [GPU_MEMORY_BYTES] = one->bytes, [GPU_MEMORY_MEMORY] = one->memoryKind, [GPU_MEMORY_IS_ASYNC] = one->isAsync,
        [GPU_MEMORY_POOL] = one->memoryPoolConfig.address,
        [GPU_MEMORY_POOL_SIZE] = one->memoryPoolConfig.pool.size,
        [GPU_MEMORY_POOL_USED] = one->memoryPoolConfig.utilizedSize);
}

static void add_pool(const CUPTI_POOL *one)
{
    ADD(POOL, [GPU_POOL_START] = one->timestamp, [GPU_POOL_END] = one->timestamp,
        [GPU_POOL_CORRELATION] = one->correlationId, [GPU_POOL_DEVICE] = one->deviceId,
        [GPU_POOL_OPERATION] = one->memoryPoolOperationType, [GPU_POOL_POOL] = one->address,
        [GPU_POOL_POOL_SIZE] = one->size, [GPU_POOL_POOL_USED] = one->utilizedSize,
        [GPU_POOL_LEAST] = one->minBytesToKeep);
}

static void add_unified(const CUPTI_UNIFIED *one)
{
    ADD(UNIFIED, [GPU_UNIFIED_START] = one->start, [GPU_UNIFIED_END] = one->end, [GPU_UNIFIED_STREAM] = one->streamId,
        [GPU_UNIFIED_COUNTER] = one->counterKind, [GPU_UNIFIED_VALUE] = one->value,
        [GPU_UNIFIED_ADDRESS] = one->address, [GPU_UNIFIED_SOURCE] = one->srcId, [GPU_UNIFIED_TARGET] = one->dstId);
}

static void add_call(const CUpti_ActivityAPI *one)
{
    int is_runtime = one->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    const char *name = 0;
    cupti.cuptiGetCallbackName(is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, one->cbid, &name);
    word number = records_name(name);
    ADD(CALL, [GPU_CALL_START] = one->start, [GPU_CALL_END] = one->end, [GPU_CALL_CORRELATION] = one->correlationId,
        [GPU_CALL_THREAD] = one->threadId, [GPU_CALL_NAME] = number, [GPU_CALL_IS_RUNTIME] = (word)is_runtime,
        [GPU_CALL_RESULT] = one->returnValue);
}

static void add_cause(const CUpti_ActivityExternalCorrelation *one)
{
    if (one->externalKind == CAUSE_KIND)
        ADD(CAUSE, [GPU_CAUSE_CORRELATION] = one->correlationId, [GPU_CAUSE_THREAD] = one->externalId >> 32,
            [GPU_CAUSE_POSITION] = one->externalId & 0xffffffff);
}

static void add_device(const CUPTI_DEVICE *one)
{
    word words[GPU_DEVICE_SIZE] = {[GPU_DEVICE_DEVICE] = one->id,
                                   [GPU_DEVICE_MULTIPROCESSORS] = one->numMultiprocessors,
                                   [GPU_DEVICE_MEMORY] = one->globalMemorySize,
                                   [GPU_DEVICE_NAME] = records_name(one->name)};
    records_add(GPU_DEVICE, words, GPU_DEVICE_SIZE);
}

static int add(const CUpti_Activity *one)
{
    switch (one->kind) {
#define OF(KIND, type, function)                                                                                       \
    case CUPTI_ACTIVITY_KIND_##KIND:                                                                                   \
        function((const type *)one);                                                                                   \
        return 1;
        OF(KERNEL, CUPTI_KERNEL, add_kernel)
        OF(CONCURRENT_KERNEL, CUPTI_KERNEL, add_kernel)
        OF(MEMCPY, CUPTI_COPY, add_copy)
        OF(MEMCPY2, CUPTI_COPY_BETWEEN, add_copy_between)
        OF(MEMSET, CUPTI_FILL, add_fill)
        OF(SYNCHRONIZATION, CUPTI_WAIT, add_wait)
        OF(MEMORY2, CUPTI_MEMORY, add_memory)
        OF(MEMORY_POOL, CUPTI_POOL, add_pool)
        OF(UNIFIED_MEMORY_COUNTER, CUPTI_UNIFIED, add_unified)
        OF(RUNTIME, CUpti_ActivityAPI, add_call)
        OF(DRIVER, CUpti_ActivityAPI, add_call)
        OF(EXTERNAL_CORRELATION, CUpti_ActivityExternalCorrelation, add_cause)
        OF(DEVICE, CUPTI_DEVICE, add_device)
    default:
        return 0;
    }
}

/* The narrowest of some looks. */
void activities_clock(void)
{
    word best[GPU_CLOCK_SIZE] = {[GPU_CLOCK_AFTER] = ~(word)0};
    for (int i = 0; i < TRIES; i++) {
        uint64_t there = 0;
        word before = records_time(CLOCK_MONOTONIC);
        if (cupti.cuptiGetTimestamp(&there) != CUPTI_SUCCESS)
            return;
        word after = records_time(CLOCK_MONOTONIC);
        if (after - before < best[GPU_CLOCK_AFTER] - best[GPU_CLOCK_BEFORE]) {
            best[GPU_CLOCK_BEFORE] = before;
            best[GPU_CLOCK_GPU] = there;
            best[GPU_CLOCK_AFTER] = after;
        }
    }
    records_add(GPU_CLOCK, best, GPU_CLOCK_SIZE);
}

void CUPTIAPI activities_give(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = aligned_alloc(4096, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *most_records = 0;
}

/* In a thread of CUPTI's. */
void CUPTIAPI activities_take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    records_lock();
    if (records_are_own()) {
        CUpti_Activity *one = 0;
        word unread = 0;
        size_t dropped = 0;
        while (valid && cupti.cuptiActivityGetNextRecord(buffer, valid, &one) == CUPTI_SUCCESS)
            unread += !add(one);
        cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
        records_dropped(dropped);
        if (unread)
            ADD(UNREAD, [GPU_UNREAD_COUNT] = unread);
        activities_clock();
        records_write();
    }
    records_unlock();
    free(buffer);
}
