/* CUPTI for machines without a GPU: each outermost call that is announced by an external correlation id becomes a kernel
 * that ran as long. Like the real one it serves who has registered last, gives the id that was pushed last, and that only
 * with a record of a call. FAKE_CUPTI=refuse: another tool is there; drop: three records are lost; unnumbered: no ids. */
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 16 };

static const char *const names[] = {0, "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemsetD8_v2"};
enum { NAMES = sizeof names / sizeof *names };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static _Alignas(8) uint8_t records[ROOM];
static size_t used;
static unsigned correlation;
static int enabled[CUPTI_ACTIVITY_KIND_COUNT], calls[NAMES], has_system_threads;
static __thread int depth;
static __thread uint64_t innermost, begun;

static int is(const char *how)
{
    const char *wanted = getenv("FAKE_CUPTI");
    return wanted && !strcmp(wanted, how);
}

static uint64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static void add(const void *record, size_t size)
{
    if (used + size > ROOM)
        return;
    memcpy(records + used, record, size);
    used += size;
}

static void hand_over(void)
{
    uint8_t *buffer = 0;
    size_t size = 0, most = 0;
    pthread_mutex_lock(&lock);
    if (request && used) {
        request(&buffer, &size, &most);
        memcpy(buffer, records, used);
        size_t valid = used;
        used = 0;
        pthread_mutex_unlock(&lock);
        complete(0, 0, buffer, size, valid);
        return;
    }
    pthread_mutex_unlock(&lock);
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                                                     : "CUPTI_ERROR_OTHER";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    *timestamp = now();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc asked,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    request = asked;
    complete = completed;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    if (is("refuse"))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    enabled[kind] = 1;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    enabled[kind] = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable)
{
    calls[id] = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable)
{
    (void)id, (void)enable;
    return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    has_system_threads = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
    return CUPTI_SUCCESS;
}

static size_t size_of(CUpti_ActivityKind kind)
{
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER)
        return sizeof(CUpti_ActivityAPI);
    return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? sizeof(CUPTI_KERNEL) : sizeof(CUpti_ActivityExternalCorrelation);
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    static __thread size_t at;
    if (at >= valid) {
        at = 0;
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = (CUpti_Activity *)(buffer + at);
    at += size_of((*record)->kind);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = is("drop") ? 3 : 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    hand_over();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || !id || id >= NAMES)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = names[id];
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    (void)kind;
    innermost = id;
    if (!depth++)
        begun = now();
    return CUPTI_SUCCESS;
}

/* Under the lock. */
static void add_call(CUpti_ExternalCorrelationKind kind)
{
    uint32_t thread = has_system_threads ? (uint32_t)gettid() : (uint32_t)pthread_self();
    CUpti_ActivityExternalCorrelation cause = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                               .externalKind = kind,
                                               .externalId = innermost,
                                               .correlationId = correlation};
    CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_DRIVER,
                              .cbid = is("unnumbered") ? (uint32_t)correlation : 1, /* in the order of test_alloc */
                              .start = begun,
                              .end = now(),
                              .processId = (uint32_t)getpid(),
                              .threadId = thread,
                              .correlationId = correlation};
    if (!calls[1])
        return;
    if (enabled[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] && !is("unnumbered"))
        add(&cause, sizeof cause);
    add(&call, sizeof call);
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    (void)last;
    if (--depth)
        return CUPTI_SUCCESS;
    pthread_mutex_lock(&lock);
    correlation++;
    CUPTI_KERNEL kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                           .start = begun,
                           .end = now(),
                           .streamId = 7,
                           .correlationId = correlation,
                           .gridX = 3,
                           .gridY = 1,
                           .gridZ = 1,
                           .blockX = 64,
                           .blockY = 1,
                           .blockZ = 1,
                           .registersPerThread = 20,
                           .dynamicSharedMemory = 512,
                           .name = "_ZN4fake6workedEf"};
    add_call(kind);
    if (enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
        add(&kernel, sizeof kernel);
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}
