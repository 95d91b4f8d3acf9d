/* Streams. Work runs when it is put in, so it is in order and done when a call returns; functions of the program's run
 * later (host_call.c), and copies wait for those before them. */
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

static unsigned long host_calls_of(CUstream stream)
{
    return object(stream) ? object(stream)->host_calls : host_calls_so_far();
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
    TRY(stream_check(hStream));
    RETURN_IF(is_captured(hStream), capture_refused(hStream));
    return host_calls_are_done(host_calls_of(hStream)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

DRIVER(cuStreamSynchronize)(CUstream hStream)
{
    TRY(stream_check(hStream));
    RETURN_IF(is_captured(hStream), capture_refused(hStream));
    host_calls_wait(host_calls_of(hStream));
    return CUDA_SUCCESS;
}

DRIVER(cuStreamWaitEvent)(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    INVALID_IF(Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL);
    TRY(stream_check(hStream));
    TRY(event_check(hEvent));
    return capture_join(hStream, hEvent->captured);
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

struct host_function {
    CUhostFn function;
    void *data;
};

static CUresult call_host(const void *kept)
{
    const struct host_function *call = kept;

    return host_call(call->function, call->data);
}

CUresult stream_note_host_calls(CUstream stream, CUresult result)
{
    if (object(stream))
        object(stream)->host_calls = host_calls_so_far();
    return result;
}

DRIVER(cuLaunchHostFunc)(CUstream hStream, CUhostFn fn, void *userData)
{
    struct host_function call = {fn, userData};

    INVALID_IF(!fn);
    TRY(stream_check(hStream));
    if (is_captured(hStream))
        return capture_call(hStream, CU_GRAPH_NODE_TYPE_HOST, call_host, &call, sizeof call);
    return stream_note_host_calls(hStream, call_host(&call));
}

DRIVER(cuStreamAddCallback)(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
    INVALID_IF(!callback || flags);
    TRY(stream_check(hStream));
    RETURN_IF(is_captured(hStream), capture_refused(hStream));
    return stream_note_host_calls(hStream, host_callback(hStream, callback, userData));
}
