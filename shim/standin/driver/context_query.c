/* Questions about a context, and its settings. */
#include "driver.h"

/* `context` may be NULL: the current one. */
static CUresult chosen(CUcontext *context)
{
    if (!*context) {
        TRY(need_context());
        *context = context_current();
    }
    RETURN_IF(!handle_get(*context, HANDLE_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    return CUDA_SUCCESS;
}

DRIVER(cuCtxGetDevice)(CUdevice *device)
{
    INVALID_IF(!device);
    *device = context_device();
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuCtxGetDevice_v2)(CUdevice *device, CUcontext ctx)
{
    INVALID_IF(!device);
    TRY(chosen(&ctx));
    *device = ctx->device;
    return CUDA_SUCCESS;
}

DRIVER(cuCtxGetFlags)(unsigned int *flags)
{
    INVALID_IF(!flags);
    *flags = context_current()->flags;
    return CUDA_SUCCESS;
}

DRIVER(cuCtxSetFlags)(unsigned int flags)
{
    INVALID_IF(flags & ~(unsigned)CU_CTX_FLAGS_MASK);
    context_current()->flags = flags;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuCtxGetId)(CUcontext ctx, unsigned long long *ctxId)
{
    INVALID_IF(!ctxId);
    TRY(chosen(&ctx));
    *ctxId = ctx->id;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuCtxGetApiVersion)(CUcontext ctx, unsigned int *version)
{
    INVALID_IF(!version);
    TRY(chosen(&ctx));
    *version = ctx->api_version;
    return CUDA_SUCCESS;
}

/* Work is done before a call returns: only functions of the program's are waited for. What is captured is not done, and
 * nobody can wait for that. */
static CUresult wait_for_all(void)
{
    TRY(not_while_capturing());
    host_calls_wait_for_all();
    return CUDA_SUCCESS;
}

DRIVER(cuCtxSynchronize)(void)
{
    return wait_for_all();
}

DRIVER_INIT(cuCtxSynchronize_v2)(CUcontext ctx)
{
    TRY(chosen(&ctx));
    return wait_for_all();
}

DRIVER(cuCtxSetLimit)(CUlimit limit, size_t value)
{
    INVALID_IF((unsigned)limit >= CU_LIMIT_MAX);
    RETURN_IF(!context_current()->limits[limit], CUDA_ERROR_UNSUPPORTED_LIMIT);
    context_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

DRIVER(cuCtxGetLimit)(size_t *pvalue, CUlimit limit)
{
    INVALID_IF(!pvalue || (unsigned)limit >= CU_LIMIT_MAX);
    *pvalue = context_current()->limits[limit];
    return CUDA_SUCCESS;
}

DRIVER(cuCtxGetCacheConfig)(CUfunc_cache *pconfig)
{
    INVALID_IF(!pconfig);
    *pconfig = context_current()->cache_config;
    return CUDA_SUCCESS;
}

DRIVER(cuCtxSetCacheConfig)(CUfunc_cache config)
{
    INVALID_IF((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL);
    context_current()->cache_config = config;
    return CUDA_SUCCESS;
}

DRIVER(cuCtxGetSharedMemConfig)(CUsharedconfig *pConfig)
{
    INVALID_IF(!pConfig);
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

/* Banks of shared memory have one width on every device of today: the setting is accepted and has no effect. */
DRIVER(cuCtxSetSharedMemConfig)(CUsharedconfig config)
{
    INVALID_IF((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    return CUDA_SUCCESS;
}

DRIVER(cuCtxGetStreamPriorityRange)(int *leastPriority, int *greatestPriority)
{
    if (leastPriority)
        *leastPriority = 0;
    if (greatestPriority)
        *greatestPriority = -5;
    return CUDA_SUCCESS;
}

DRIVER(cuCtxEnablePeerAccess)(CUcontext peerContext, unsigned int Flags)
{
    INVALID_IF(Flags);
    RETURN_IF(!handle_get(peerContext, HANDLE_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    RETURN_IF(peerContext->device == context_device(), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    unsigned bit = 1u << peerContext->device;
    RETURN_IF(context_current()->peers & bit, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    context_current()->peers |= bit;
    return CUDA_SUCCESS;
}

DRIVER(cuCtxDisablePeerAccess)(CUcontext peerContext)
{
    RETURN_IF(!handle_get(peerContext, HANDLE_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    unsigned bit = 1u << peerContext->device;
    RETURN_IF(!(context_current()->peers & bit), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    context_current()->peers &= ~bit;
    return CUDA_SUCCESS;
}
