/* The primary context of each device: counted, and shared by all who retain it. */
#include "driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct primary {
    CUcontext context; /* NULL while inactive */
    unsigned users, flags;
} primaries[MODEL_MAX_DEVICES];

static CUresult retain(struct primary *primary, CUdevice device)
{
    if (!primary->context)
        primary->context = context_new(device, primary->flags);
    RETURN_IF(!primary->context, CUDA_ERROR_OUT_OF_MEMORY);
    primary->users++;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDevicePrimaryCtxRetain)(CUcontext *pctx, CUdevice dev)
{
    INVALID_IF(!pctx);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&lock);
    CUresult result = retain(&primaries[dev], dev);
    if (result == CUDA_SUCCESS)
        *pctx = primaries[dev].context;
    pthread_mutex_unlock(&lock);
    return result;
}

static void deactivate(struct primary *primary)
{
    if (primary->context)
        context_end(primary->context);
    primary->context = NULL;
    primary->users = 0;
}

DRIVER_INIT(cuDevicePrimaryCtxRelease_v2)(CUdevice dev)
{
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&lock);
    struct primary *primary = &primaries[dev];
    CUresult result = primary->users ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (primary->users && --primary->users == 0)
        deactivate(primary);
    pthread_mutex_unlock(&lock);
    return result;
}

DRIVER_INIT(cuDevicePrimaryCtxReset_v2)(CUdevice dev)
{
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&lock);
    deactivate(&primaries[dev]);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDevicePrimaryCtxSetFlags_v2)(CUdevice dev, unsigned int flags)
{
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    INVALID_IF(flags & ~(unsigned)CU_CTX_FLAGS_MASK);
    pthread_mutex_lock(&lock);
    primaries[dev].flags = flags;
    if (primaries[dev].context)
        primaries[dev].context->flags = flags;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDevicePrimaryCtxGetState)(CUdevice dev, unsigned int *flags, int *active)
{
    INVALID_IF(!flags || !active);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    pthread_mutex_lock(&lock);
    *flags = primaries[dev].flags;
    *active = primaries[dev].context != NULL;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}
