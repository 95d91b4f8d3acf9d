/* Streams and events: the driver's, under other names. */
#include "runtime.h"

RUNTIME(cudaStreamCreate)(cudaStream_t *pStream)
{
    return FROM_DRIVER(driver.cuStreamCreate(pStream, CU_STREAM_DEFAULT));
}

RUNTIME(cudaStreamCreateWithFlags)(cudaStream_t *pStream, unsigned int flags)
{
    return FROM_DRIVER(driver.cuStreamCreate(pStream, flags));
}

RUNTIME(cudaStreamCreateWithPriority)(cudaStream_t *pStream, unsigned int flags, int priority)
{
    return FROM_DRIVER(driver.cuStreamCreateWithPriority(pStream, flags, priority));
}

RUNTIME(cudaStreamDestroy)(cudaStream_t stream)
{
    RETURN_IF(!stream, cudaErrorInvalidResourceHandle);
    return FROM_DRIVER(driver.cuStreamDestroy_v2(stream));
}

RUNTIME(cudaStreamSynchronize)(cudaStream_t stream)
{
    return FROM_DRIVER(driver.cuStreamSynchronize(stream));
}

RUNTIME(cudaStreamQuery)(cudaStream_t stream)
{
    return FROM_DRIVER(driver.cuStreamQuery(stream));
}

RUNTIME(cudaStreamWaitEvent)(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    return FROM_DRIVER(driver.cuStreamWaitEvent(stream, event, flags));
}

RUNTIME(cudaStreamGetPriority)(cudaStream_t hStream, int *priority)
{
    return FROM_DRIVER(driver.cuStreamGetPriority(hStream, priority));
}

RUNTIME(cudaStreamGetFlags)(cudaStream_t hStream, unsigned int *flags)
{
    return FROM_DRIVER(driver.cuStreamGetFlags(hStream, flags));
}

RUNTIME(cudaStreamGetId)(cudaStream_t hStream, unsigned long long *streamId)
{
    return FROM_DRIVER(driver.cuStreamGetId(hStream, streamId));
}

RUNTIME(cudaStreamGetDevice)(cudaStream_t hStream, int *device)
{
    return FROM_DRIVER(driver.cuStreamGetDevice(hStream, device));
}

RUNTIME(cudaStreamAttachMemAsync)(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags)
{
    return FROM_DRIVER(driver.cuStreamAttachMemAsync(stream, (CUdeviceptr)devPtr, length, flags));
}

RUNTIME(cudaStreamIsCapturing)(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
    return FROM_DRIVER(driver.cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)pCaptureStatus));
}

RUNTIME_INIT(cudaThreadExchangeStreamCaptureMode)(enum cudaStreamCaptureMode *mode)
{
    return FROM_DRIVER(driver.cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

RUNTIME(cudaLaunchHostFunc)(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    return FROM_DRIVER(driver.cuLaunchHostFunc(stream, fn, userData));
}

RUNTIME(cudaStreamAddCallback)(cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned int flags)
{
    return FROM_DRIVER(driver.cuStreamAddCallback(stream, (CUstreamCallback)callback, userData, flags));
}

RUNTIME(cudaEventCreate)(cudaEvent_t *event)
{
    return FROM_DRIVER(driver.cuEventCreate(event, CU_EVENT_DEFAULT));
}

RUNTIME(cudaEventCreateWithFlags)(cudaEvent_t *event, unsigned int flags)
{
    return FROM_DRIVER(driver.cuEventCreate(event, flags));
}

RUNTIME(cudaEventDestroy)(cudaEvent_t event)
{
    return FROM_DRIVER(driver.cuEventDestroy_v2(event));
}

RUNTIME(cudaEventRecord)(cudaEvent_t event, cudaStream_t stream)
{
    return FROM_DRIVER(driver.cuEventRecord(event, stream));
}

RUNTIME(cudaEventRecordWithFlags)(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    return FROM_DRIVER(driver.cuEventRecordWithFlags(event, stream, flags));
}

RUNTIME(cudaEventQuery)(cudaEvent_t event)
{
    return FROM_DRIVER(driver.cuEventQuery(event));
}

RUNTIME(cudaEventSynchronize)(cudaEvent_t event)
{
    return FROM_DRIVER(driver.cuEventSynchronize(event));
}

RUNTIME(cudaEventElapsedTime)(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return FROM_DRIVER(driver.cuEventElapsedTime_v2(ms, start, end));
}
