/* The device of each thread, and its primary context. */
#include "runtime.h"

#include <pthread.h>

enum { MOST_DEVICES = 64 };

static _Thread_local int thread_device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts[MOST_DEVICES]; /* NULL until retained */

cudaError_t check_device(int device)
{
    int count = 0;

    TRY_DRIVER(driver.cuDeviceGetCount(&count));
    RETURN_IF(device < 0 || device >= count || device >= MOST_DEVICES, cudaErrorInvalidDevice);
    return cudaSuccess;
}

cudaError_t device_context(int device, CUcontext *context)
{
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&lock);
    if (!contexts[device])
        result = driver.cuDevicePrimaryCtxRetain(&contexts[device], device);
    *context = contexts[device];
    pthread_mutex_unlock(&lock);
    return FROM_DRIVER(result);
}

static cudaError_t make_current(int device)
{
    CUcontext context;

    TRY(device_context(device, &context));
    return FROM_DRIVER(driver.cuCtxSetCurrent(context));
}

/* A context that the program has made current through the driver is used as it is. */
cudaError_t need_device(void)
{
    CUcontext context = NULL;

    TRY(need_driver());
    TRY_DRIVER(driver.cuCtxGetCurrent(&context));
    return context ? cudaSuccess : make_current(thread_device);
}

RUNTIME_INIT(cudaSetDevice)(int device)
{
    TRY(check_device(device));
    thread_device = device;
    return make_current(device);
}

RUNTIME_INIT(cudaInitDevice)(int device, unsigned int deviceFlags, unsigned int flags)
{
    CUcontext context;

    INVALID_IF(flags & ~(unsigned)cudaInitDeviceFlagsAreValid);
    TRY(check_device(device));
    if (flags & cudaInitDeviceFlagsAreValid)
        TRY_DRIVER(driver.cuDevicePrimaryCtxSetFlags_v2(device, deviceFlags));
    return device_context(device, &context);
}

RUNTIME_INIT(cudaGetDevice)(int *device)
{
    CUcontext context = NULL;

    INVALID_IF(!device);
    TRY_DRIVER(driver.cuCtxGetCurrent(&context));
    if (context)
        return FROM_DRIVER(driver.cuCtxGetDevice(device));
    *device = thread_device;
    return cudaSuccess;
}

RUNTIME_INIT(cudaGetDeviceCount)(int *count)
{
    INVALID_IF(!count);
    return FROM_DRIVER(driver.cuDeviceGetCount(count));
}

RUNTIME_INIT(cudaSetValidDevices)(int *device_arr, int len)
{
    INVALID_IF(len < 0 || (len && !device_arr));
    for (int i = 0; i < len; i++)
        TRY(check_device(device_arr[i]));
    if (len)
        thread_device = device_arr[0];
    return cudaSuccess;
}

RUNTIME_INIT(cudaSetDeviceFlags)(unsigned int flags)
{
    INVALID_IF(flags & ~(unsigned)(cudaDeviceMask | cudaDeviceSyncMemops));
    return FROM_DRIVER(driver.cuDevicePrimaryCtxSetFlags_v2(thread_device, flags & ~(unsigned)cudaDeviceMapHost));
}

RUNTIME_INIT(cudaGetDeviceFlags)(unsigned int *flags)
{
    int active;

    INVALID_IF(!flags);
    TRY_DRIVER(driver.cuDevicePrimaryCtxGetState(thread_device, flags, &active));
    *flags |= cudaDeviceMapHost;
    return cudaSuccess;
}

RUNTIME(cudaDeviceSynchronize)(void)
{
    return FROM_DRIVER(driver.cuCtxSynchronize());
}

RUNTIME_INIT(cudaDeviceReset)(void)
{
    int device = thread_device;

    pthread_mutex_lock(&lock);
    CUresult result = driver.cuCtxSetCurrent(NULL);
    if (result == CUDA_SUCCESS)
        result = driver.cuDevicePrimaryCtxReset_v2(device);
    contexts[device] = NULL;
    pthread_mutex_unlock(&lock);
    return FROM_DRIVER(result);
}

static cudaError_t peer_context(int device, CUcontext *context)
{
    TRY(check_device(device));
    return device_context(device, context);
}

RUNTIME(cudaDeviceEnablePeerAccess)(int peerDevice, unsigned int flags)
{
    CUcontext context;

    TRY(peer_context(peerDevice, &context));
    return FROM_DRIVER(driver.cuCtxEnablePeerAccess(context, flags));
}

RUNTIME(cudaDeviceDisablePeerAccess)(int peerDevice)
{
    CUcontext context;

    TRY(peer_context(peerDevice, &context));
    return FROM_DRIVER(driver.cuCtxDisablePeerAccess(context));
}
