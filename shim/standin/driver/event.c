/* Events. Recording one takes the time; all work before it is already done. */
#include "driver.h"

CUresult event_check(CUevent event)
{
    return handle_get(event, HANDLE_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(cuEventCreate)(CUevent *phEvent, unsigned int Flags)
{
    const unsigned known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

    INVALID_IF(!phEvent || Flags & ~known);
    RETURN_IF(Flags & CU_EVENT_INTERPROCESS, CUDA_ERROR_NOT_SUPPORTED);
    CUevent event = handle_new(HANDLE_EVENT, sizeof *event, context_current(), NULL);
    RETURN_IF(!event, CUDA_ERROR_OUT_OF_MEMORY);
    event->flags = Flags;
    *phEvent = event;
    return CUDA_SUCCESS;
}

DRIVER(cuEventDestroy_v2)(CUevent hEvent)
{
    return handle_close(hEvent, HANDLE_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(cuEventRecordWithFlags)(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    INVALID_IF(flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL);
    TRY(event_check(hEvent));
    TRY(stream_check(hStream));
    hEvent->captured = is_captured(hStream) ? hStream : NULL;
    hEvent->host_calls = host_calls_so_far();
    clock_gettime(CLOCK_MONOTONIC, &hEvent->at);
    hEvent->recorded = true;
    return CUDA_SUCCESS;
}

DRIVER(cuEventRecord)(CUevent hEvent, CUstream hStream)
{
    return do_cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

DRIVER(cuEventQuery)(CUevent hEvent)
{
    TRY(event_check(hEvent));
    return host_calls_are_done(hEvent->host_calls) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

DRIVER(cuEventSynchronize)(CUevent hEvent)
{
    TRY(event_check(hEvent));
    host_calls_wait(hEvent->host_calls);
    return CUDA_SUCCESS;
}

static bool timed(CUevent event)
{
    return handle_get(event, HANDLE_EVENT) && event->recorded && !(event->flags & CU_EVENT_DISABLE_TIMING);
}

static float milliseconds(struct timespec from, struct timespec to)
{
    return (float)((double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
}

DRIVER(cuEventElapsedTime_v2)(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    RETURN_IF(!pMilliseconds || !timed(hStart) || !timed(hEnd), CUDA_ERROR_INVALID_HANDLE);
    *pMilliseconds = milliseconds(hStart->at, hEnd->at);
    return CUDA_SUCCESS;
}
