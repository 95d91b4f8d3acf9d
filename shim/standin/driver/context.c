/* Contexts: one stack of current contexts for each thread, one primary context for each device. */
#include "driver.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { DEEPEST_STACK = 64 };

static _Thread_local CUcontext stack[DEEPEST_STACK];
static _Thread_local int depth;
static atomic_int counts[MODEL_MAX_DEVICES]; /* by physical device */

unsigned long long next_id(void)
{
    static atomic_ullong last;

    return ++last;
}

int context_count(int physical_device)
{
    return counts[physical_device];
}

CUcontext context_current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

CUdevice context_device(void)
{
    return context_current()->device;
}

CUresult need_context(void)
{
    TRY(need_init());
    RETURN_IF(host_calls_forbid(), CUDA_ERROR_NOT_PERMITTED);
    RETURN_IF(!context_current(), CUDA_ERROR_INVALID_CONTEXT);
    RETURN_IF(!handle_get(context_current(), HANDLE_CONTEXT), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}

static const struct {
    CUlimit limit;
    size_t bytes;
} initial_limits[] = {
    {CU_LIMIT_STACK_SIZE, 1024},
    {CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20},
    {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
    {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
    {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
    {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
};

CUcontext context_new(CUdevice device, unsigned flags)
{
    CUcontext context = handle_new(HANDLE_CONTEXT, sizeof *context, NULL, NULL);

    if (!context)
        return NULL;
    context->device = device;
    context->flags = flags;
    context->api_version = 3020;
    context->id = next_id();
    counts[device_physical(device)]++;
    for (size_t i = 0; i < LENGTH(initial_limits); i++)
        context->limits[initial_limits[i].limit] = initial_limits[i].bytes;
    return context;
}

void context_end(CUcontext context)
{
    allocation_free_all_of(context);
    handle_close_all_of(context);
    counts[device_physical(context->device)]--;
    handle_close(context, HANDLE_CONTEXT);
}

static CUresult push(CUcontext context)
{
    RETURN_IF(depth == DEEPEST_STACK, CUDA_ERROR_OUT_OF_MEMORY);
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *context, unsigned flags, CUdevice device)
{
    INVALID_IF(!context || flags & ~(unsigned)CU_CTX_FLAGS_MASK);
    RETURN_IF(!device_valid(device), CUDA_ERROR_INVALID_DEVICE);
    CUcontext made = context_new(device, flags);
    RETURN_IF(!made, CUDA_ERROR_OUT_OF_MEMORY);
    *context = made;
    return push(made);
}

DRIVER_INIT(cuCtxCreate_v2)(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(pctx, flags, dev);
}

DRIVER_INIT(cuCtxCreate_v3)(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
                            CUdevice dev)
{
    RETURN_IF(paramsArray || numParams, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    return create(pctx, flags, dev);
}

DRIVER_INIT(cuCtxCreate_v4)(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
    RETURN_IF(ctxCreateParams && ctxCreateParams->execAffinityParams, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    RETURN_IF(ctxCreateParams && ctxCreateParams->cigParams, CUDA_ERROR_NOT_SUPPORTED);
    return create(pctx, flags, dev);
}

DRIVER_INIT(cuCtxDestroy_v2)(CUcontext ctx)
{
    INVALID_IF(!ctx);
    RETURN_IF(!handle_get(ctx, HANDLE_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    if (ctx == context_current())
        depth--;
    context_end(ctx);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuCtxPushCurrent_v2)(CUcontext ctx)
{
    INVALID_IF(!ctx);
    RETURN_IF(!handle_get(ctx, HANDLE_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    return push(ctx);
}

DRIVER_INIT(cuCtxPopCurrent_v2)(CUcontext *pctx)
{
    RETURN_IF(!depth, CUDA_ERROR_INVALID_CONTEXT);
    CUcontext popped = stack[--depth];
    if (pctx)
        *pctx = popped;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuCtxSetCurrent)(CUcontext ctx)
{
    RETURN_IF(ctx && !handle_get(ctx, HANDLE_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    if (depth)
        depth--;
    return ctx ? push(ctx) : CUDA_SUCCESS;
}

DRIVER_INIT(cuCtxGetCurrent)(CUcontext *pctx)
{
    INVALID_IF(!pctx);
    *pctx = context_current();
    return CUDA_SUCCESS;
}
