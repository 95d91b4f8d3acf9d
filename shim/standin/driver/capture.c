/* Streams whose work becomes nodes of a graph, from cuStreamBeginCapture to cuStreamEndCapture. What the driver cannot
 * do meanwhile it refuses, and the capture is lost. */
#include "driver.h"

#include <stdlib.h>

static int global_captures; /* those in whose time no thread may do what waits for the device */
static _Thread_local CUstreamCaptureMode own_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static struct capture *last_global;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of one cuStreamBeginCapture; streams that have waited for it have it too. */
struct capture {
    CUgraph graph;
    CUgraphNode last;
    CUstream *streams; /* the first is the one that it began with */
    size_t stream_count;
    CUstreamCaptureMode mode;
    bool invalid;
    unsigned long long id;
};

static struct capture *of(CUstream stream)
{
    CUstream found = handle_get(stream, HANDLE_STREAM);

    return found ? found->capture : NULL;
}

bool is_captured(CUstream stream)
{
    return of(stream) != NULL;
}

CUresult capture_refused(CUstream stream)
{
    of(stream)->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult not_while_capturing(void)
{
    CUresult result = CUDA_SUCCESS;

    if (own_mode == CU_STREAM_CAPTURE_MODE_RELAXED || !__atomic_load_n(&global_captures, __ATOMIC_SEQ_CST))
        return result;
    pthread_mutex_lock(&lock);
    if (last_global) {
        last_global->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult capture_call(CUstream stream, CUgraphNodeType type, replay_work *replay, const void *kept, size_t size)
{
    struct capture *capture = of(stream);

    RETURN_IF(capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return graph_add_call(capture->graph, type, replay, kept, size, &capture->last);
}

CUresult capture_alloc(CUstream stream, CUdevice device, size_t bytes, CUdeviceptr *start)
{
    struct capture *capture = of(stream);
    CUDA_MEM_ALLOC_NODE_PARAMS wanted = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}},
        .bytesize = bytes,
    };

    RETURN_IF(capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    TRY(graph_add_alloc(capture->graph, &wanted, &capture->last));
    *start = wanted.dptr;
    return CUDA_SUCCESS;
}

CUresult capture_free(CUstream stream, CUdeviceptr start)
{
    struct capture *capture = of(stream);

    RETURN_IF(capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return graph_add_free(capture->graph, start, &capture->last);
}

static bool join(CUstream stream, struct capture *capture)
{
    CUstream *streams = realloc(capture->streams, (capture->stream_count + 1) * sizeof *streams);

    if (!streams)
        return false;
    capture->streams = streams;
    streams[capture->stream_count++] = stream;
    stream->capture = capture;
    return true;
}

CUresult capture_join(CUstream stream, CUstream other)
{
    CUstream joins = handle_get(stream, HANDLE_STREAM);
    struct capture *capture = of(other);

    if (!joins || joins->capture || !capture)
        return CUDA_SUCCESS;
    return join(joins, capture) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void end(struct capture *capture)
{
    for (size_t i = 0; i < capture->stream_count; i++)
        if (of(capture->streams[i]) == capture)
            capture->streams[i]->capture = NULL;
    free(capture->streams);
    free(capture);
}

static bool is_global(const struct capture *capture)
{
    return capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

DRIVER(cuStreamBeginCapture_v2)(CUstream hStream, CUstreamCaptureMode mode)
{
    INVALID_IF((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED);
    TRY(stream_check(hStream));
    CUstream stream = handle_get(hStream, HANDLE_STREAM);
    RETURN_IF(!stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    RETURN_IF(stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    struct capture *capture = calloc(1, sizeof *capture);
    RETURN_IF(!capture, CUDA_ERROR_OUT_OF_MEMORY);
    *capture = (struct capture){.mode = mode, .id = next_id()};
    if (do_cuGraphCreate(&capture->graph, 0) != CUDA_SUCCESS || !join(stream, capture)) {
        do_cuGraphDestroy(capture->graph);
        end(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (is_global(capture)) {
        pthread_mutex_lock(&lock);
        last_global = capture;
        pthread_mutex_unlock(&lock);
        __atomic_add_fetch(&global_captures, 1, __ATOMIC_SEQ_CST);
    }
    return CUDA_SUCCESS;
}

static void forget_global(const struct capture *capture)
{
    if (!is_global(capture))
        return;
    pthread_mutex_lock(&lock);
    if (last_global == capture)
        last_global = NULL;
    pthread_mutex_unlock(&lock);
    __atomic_sub_fetch(&global_captures, 1, __ATOMIC_SEQ_CST);
}

DRIVER(cuStreamEndCapture)(CUstream hStream, CUgraph *phGraph)
{
    struct capture *capture = of(hStream);

    INVALID_IF(!phGraph);
    *phGraph = NULL;
    TRY(stream_check(hStream));
    RETURN_IF(!capture, CUDA_ERROR_ILLEGAL_STATE);
    RETURN_IF(capture->streams[0] != hStream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CUresult result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    if (capture->invalid)
        do_cuGraphDestroy(capture->graph);
    else
        *phGraph = capture->graph;
    forget_global(capture);
    end(capture);
    return result;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
    const struct capture *capture = of(stream);

    if (!capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

DRIVER(cuStreamIsCapturing)(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    INVALID_IF(!captureStatus);
    TRY(stream_check(hStream));
    *captureStatus = status_of(hStream);
    return CUDA_SUCCESS;
}

DRIVER(cuStreamGetCaptureInfo_v2)(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
                                  CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                  size_t *numDependencies_out)
{
    TRY(do_cuStreamIsCapturing(hStream, captureStatus_out));
    struct capture *capture = *captureStatus_out == CU_STREAM_CAPTURE_STATUS_ACTIVE ? of(hStream) : NULL;
    if (id_out)
        *id_out = capture ? capture->id : 0;
    if (graph_out)
        *graph_out = capture ? capture->graph : NULL;
    if (dependencies_out)
        *dependencies_out = capture ? &capture->last : NULL;
    if (numDependencies_out)
        *numDependencies_out = capture && capture->last ? 1 : 0;
    return CUDA_SUCCESS;
}

DRIVER(cuStreamGetCaptureInfo_v3)(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
                                  CUgraph *graph_out, const CUgraphNode **dependencies_out,
                                  const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
    if (edgeData_out)
        *edgeData_out = NULL;
    return do_cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                                        numDependencies_out);
}

DRIVER_INIT(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode *mode)
{
    INVALID_IF(!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED);
    CUstreamCaptureMode before = own_mode;
    own_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
