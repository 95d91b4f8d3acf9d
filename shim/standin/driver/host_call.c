/* Functions of the program's that lie in a stream. As with a GPU a thread of the driver's calls them, one after the other,
 * while their caller goes on; it has no context, and may ask for nothing that needs one. */
#include "driver.h"

#include <pthread.h>
#include <stdlib.h>

struct host_call {
    CUhostFn function;
    CUstreamCallback callback; /* or this */
    CUstream stream;
    void *data;
    struct host_call *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct host_call *first, **last = &first;
static unsigned long queued, done;
static bool has_thread;
static _Thread_local bool is_own_thread;

bool host_calls_forbid(void)
{
    return is_own_thread;
}

static void call(const struct host_call *it)
{
    if (it->function)
        it->function(it->data);
    else
        it->callback(it->stream, CUDA_SUCCESS, it->data);
}

static void *call_all(void *unused)
{
    is_own_thread = true;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first)
            pthread_cond_wait(&changed, &lock);
        struct host_call *it = first;
        first = it->next;
        last = first ? last : &first;
        pthread_mutex_unlock(&lock);
        call(it);
        free(it);
        pthread_mutex_lock(&lock);
        done++;
        pthread_cond_broadcast(&changed);
    }
    return unused;
}

/* The child has no thread of these, and what the parent has put in is the parent's. */
static void begin_again(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&changed, NULL);
    first = NULL;
    last = &first;
    done = queued;
    has_thread = is_own_thread = false;
}

static bool have_thread(void)
{
    static bool is_known;
    pthread_t thread;

    if (has_thread)
        return true;
    if (!is_known)
        is_known = pthread_atfork(NULL, NULL, begin_again) == 0;
    has_thread = pthread_create(&thread, NULL, call_all, NULL) == 0;
    if (has_thread)
        pthread_detach(thread);
    return has_thread;
}

static CUresult put_in(const struct host_call *wanted)
{
    struct host_call *it = malloc(sizeof *it);
    bool is_put = false;

    RETURN_IF(!it, CUDA_ERROR_OUT_OF_MEMORY);
    *it = *wanted;
    pthread_mutex_lock(&lock);
    if (have_thread()) {
        *last = it;
        last = &it->next;
        queued++;
        is_put = true;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (!is_put)
        free(it);
    return is_put ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult host_call(CUhostFn function, void *data)
{
    return put_in(&(struct host_call){.function = function, .data = data});
}

CUresult host_callback(CUstream stream, CUstreamCallback callback, void *data)
{
    return put_in(&(struct host_call){.callback = callback, .stream = stream, .data = data});
}

unsigned long host_calls_so_far(void)
{
    return __atomic_load_n(&queued, __ATOMIC_ACQUIRE);
}

bool host_calls_are_done(unsigned long until)
{
    return is_own_thread || __atomic_load_n(&done, __ATOMIC_ACQUIRE) >= until;
}

void host_calls_wait(unsigned long until)
{
    if (host_calls_are_done(until))
        return;
    pthread_mutex_lock(&lock);
    while (done < until)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void host_calls_wait_for_all(void)
{
    host_calls_wait(host_calls_so_far());
}
