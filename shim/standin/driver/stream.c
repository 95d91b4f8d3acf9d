/* Streams. Work runs when it is put in, so it is in order and done when a call returns. */
#include "driver.h"

#include <string.h>

CUresult stream_check(CUstream stream)
{
    if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
        return CUDA_SUCCESS;
    return handle_get(stream, HANDLE_STREAM) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* NULL for the default streams, which have no object. */
static CUstream object(CUstream stream)
{
    return handle_get(stream, HANDLE_STREAM);
}

static int clamped(int priority)
{
    return priority > 0 ? 0 : priority < -5 ? -5 : priority;
}

DRIVER(cuStreamCreateWithPriority)(CUstream *phStream, unsigned int flags, int priority)
{
    INVALID_IF(!phStream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING);
    CUstream stream = handle_new(HANDLE_STREAM, sizeof *stream, context_current(), NULL);
    RETURN_IF(!stream, CUDA_ERROR_OUT_OF_MEMORY);
    stream->flags = flags;
    stream->priority = clamped(priority);
    stream->id = next_id();
    *phStream = stream;
    return CUDA_SUCCESS;
}

DRIVER(cuStreamCreate)(CUstream *phStream, unsigned int Flags)
{
    return do_cuStreamCreateWithPriority(phStream, Flags, 0);
}

DRIVER(cuStreamDestroy_v2)(CUstream hStream)
{
    return handle_close(hStream, HANDLE_STREAM) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(cuStreamQuery)(CUstream hStream)
{
    return stream_check(hStream);
}

DRIVER(cuStreamSynchronize)(CUstream hStream)
{
    return stream_check(hStream);
}

DRIVER(cuStreamWaitEvent)(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    INVALID_IF(Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL);
    TRY(stream_check(hStream));
    return event_check(hEvent);
}

DRIVER(cuStreamGetPriority)(CUstream hStream, int *priority)
{
    INVALID_IF(!priority);
    TRY(stream_check(hStream));
    *priority = object(hStream) ? hStream->priority : 0;
    return CUDA_SUCCESS;
}

DRIVER(cuStreamGetFlags)(CUstream hStream, unsigned int *flags)
{
    INVALID_IF(!flags);
    TRY(stream_check(hStream));
    *flags = object(hStream) ? hStream->flags : 0;
    return CUDA_SUCCESS;
}

DRIVER(cuStreamGetId)(CUstream hStream, unsigned long long *streamId)
{
    INVALID_IF(!streamId);
    TRY(stream_check(hStream));
    *streamId = object(hStream) ? hStream->id : (uintptr_t)hStream;
    return CUDA_SUCCESS;
}

DRIVER(cuStreamGetCtx)(CUstream hStream, CUcontext *pctx)
{
    INVALID_IF(!pctx);
    TRY(stream_check(hStream));
    *pctx = object(hStream) ? hStream->handle.context : context_current();
    return CUDA_SUCCESS;
}

DRIVER(cuStreamGetDevice)(CUstream hStream, CUdevice *device)
{
    CUcontext context;

    INVALID_IF(!device);
    TRY(do_cuStreamGetCtx(hStream, &context));
    *device = context->device;
    return CUDA_SUCCESS;
}

DRIVER(cuLaunchHostFunc)(CUstream hStream, CUhostFn fn, void *userData)
{
    INVALID_IF(!fn);
    TRY(stream_check(hStream));
    fn(userData);
    return CUDA_SUCCESS;
}

DRIVER(cuStreamAddCallback)(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
    INVALID_IF(!callback || flags);
    TRY(stream_check(hStream));
    callback(hStream, CUDA_SUCCESS, userData);
    return CUDA_SUCCESS;
}

/* Capturing is not supported, so no stream ever is. */
DRIVER(cuStreamIsCapturing)(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    INVALID_IF(!captureStatus);
    TRY(stream_check(hStream));
    *captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;

    INVALID_IF(!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED);
    CUstreamCaptureMode before = current;
    current = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
