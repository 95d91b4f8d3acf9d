#include "causes.h"
#include "records.h"
#include "ring_layout.h"
#include "unified.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, LONGEST_NAME = 128, MOST_CALLS = 4096 };

static word *recorder;
static int are_all; /* calls that CUPTI tells of */
static __thread struct {
    word depth, tops[DEEPEST]; /* of calls that have begun: stack pointers after their returns */
} open_calls;

/* Those that the call with this one is not in: longjmp or an exception has left them, or they return. */
static void leave(word top)
{
    while (open_calls.depth && open_calls.tops[open_calls.depth - 1] <= top) {
        cupti.cuptiActivityPopExternalCorrelationId(CAUSE_KIND, 0);
        open_calls.depth--;
    }
}

static void around(word thread, word position, word top)
{
    int before = errno;
    leave(top);
    unified_begin();
    if (open_calls.depth < DEEPEST) {
        cupti.cuptiActivityPushExternalCorrelationId(CAUSE_KIND, thread << 32 | (position & 0xffffffff));
        open_calls.tops[open_calls.depth++] = top;
    }
    errno = before;
}

static void behind(word top)
{
    int before = errno;
    leave(top);
    errno = before;
}

static void tell(word how_it_begins, word how_it_ends)
{
    if (!recorder)
        return;
    __atomic_store_n(&recorder[STATE_BEHIND], how_it_ends, __ATOMIC_SEQ_CST);
    __atomic_store_n(&recorder[STATE_AROUND], how_it_begins, __ATOMIC_SEQ_CST);
}

void causes_end(void)
{
    tell(0, 0);
}

int causes_begin(void)
{
    word *found = dlsym(RTLD_DEFAULT, "gdbcuda_recorder_v1");
    if (!found || found[STATE_VERSION] != VERSION)
        return 0;
    recorder = found;
    pthread_atfork(0, 0, causes_end); /* CUDA, and CUPTI, do not live on in a child */
    tell((word)around, (word)behind);
    return 1;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

/* cudaLaunchKernel_ptsz_v7000 is called cudaLaunchKernel_ptsz. */
static int makes_work(const char *said)
{
    char name[LONGEST_NAME] = "";
    strncpy(name, said, sizeof name - 1);
    char *version = strrchr(name, '_');
    if (version && version[1] == 'v' && strlen(version) >= 6)
        *version = 0;
    return bsearch(name, causing_functions, causing_functions_count, sizeof *causing_functions, compare) != 0;
}

static CUptiResult calls_of(CUpti_CallbackDomain domain, CUptiResult (*enable)(CUpti_CallbackId, uint8_t), uint8_t on)
{
    CUptiResult result = CUPTI_SUCCESS;
    for (CUpti_CallbackId id = 1; id < MOST_CALLS; id++) {
        const char *name = 0;
        if (cupti.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name)
            break;
        if (makes_work(name) && (result = enable(id, on)) != CUPTI_SUCCESS)
            break;
    }
    return result;
}

/* One by one: the others cost as much, and make nothing. */
static CUptiResult those_that_make_work(uint8_t on)
{
    if (!cupti.cuptiActivityEnableRuntimeApi || !cupti.cuptiActivityEnableDriverApi)
        return CUPTI_ERROR_NOT_SUPPORTED;
    CUptiResult result = calls_of(CUPTI_CB_DOMAIN_RUNTIME_API, cupti.cuptiActivityEnableRuntimeApi, on);
    return result == CUPTI_SUCCESS ? calls_of(CUPTI_CB_DOMAIN_DRIVER_API, cupti.cuptiActivityEnableDriverApi, on) : result;
}

CUptiResult calls_begin(void)
{
    CUptiResult result = those_that_make_work(1);
    if (result == CUPTI_SUCCESS)
        return result;
    are_all = 1;
    result = cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
    return result == CUPTI_SUCCESS ? cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER) : result;
}

void calls_end(void)
{
    those_that_make_work(0);
    if (are_all) {
        cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
        cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
    }
}
