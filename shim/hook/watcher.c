/* A thread that looks at the devices' memory now and then, as the monitors inside real hook libraries do: calls in the
   log that the program did not make. Started by cuInit where a limit is set; GDBCUDA_HOOK_WATCH_MS is the pause between
   two looks (200 by default, 0: no watcher). It ends before the program's other exit handlers run, and a forked child
   has none until it calls cuInit itself. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "limit.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running, stopping;

static int pause_ms(void)
{
    const char *text = getenv("GDBCUDA_HOOK_WATCH_MS");
    int wanted = text ? atoi(text) : 200;
    return wanted < 0 ? 0 : wanted;
}

static struct timespec after_ms(long ms)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += ms / 1000;
    time.tv_nsec += ms % 1000 * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void look_at(unsigned int index)
{
    nvmlDevice_t device;
    nvmlMemory_t memory;
    if (nvmlDeviceGetHandleByIndex_v2(index, &device) != NVML_SUCCESS)
        return;
    if (nvmlDeviceGetMemoryInfo(device, &memory) == NVML_SUCCESS)
        hook_log("watcher: device %u uses %llu of %llu bytes", index, memory.used, memory.total);
}

static void look_at_all(void)
{
    unsigned int count = 0;
    if (nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
        return;
    for (unsigned int index = 0; index < count; index++)
        look_at(index);
}

static bool wait_for_stop(void)
{
    struct timespec until = after_ms(pause_ms());
    pthread_mutex_lock(&lock);
    while (!stopping && pthread_cond_timedwait(&wake, &lock, &until) == 0)
        ;
    bool stop = stopping;
    pthread_mutex_unlock(&lock);
    return stop;
}

static void *watch(void *unused)
{
    if (nvmlInit_v2() != NVML_SUCCESS)
        return unused;
    do
        look_at_all();
    while (!wait_for_stop());
    nvmlShutdown();
    return unused;
}

/* A look that hangs in the driver must not keep the program from ending. */
static void stop(void)
{
    struct timespec patience = after_ms(1000);
    if (!running)
        return;
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    pthread_timedjoin_np(thread, NULL, &patience);
    running = false;
}

static void lock_watcher(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_watcher(void)
{
    pthread_mutex_unlock(&lock);
}

static void forget_watcher(void)
{
    running = false;
    pthread_mutex_unlock(&lock);
}

static void prepare_for_exit_and_fork(void)
{
    atexit(stop);
    pthread_atfork(lock_watcher, unlock_watcher, forget_watcher);
}

static void watcher_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!limit_bytes() || !pause_ms())
        return;
    pthread_once(&once, prepare_for_exit_and_fork);
    pthread_mutex_lock(&lock);
    if (!running && !stopping)
        running = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_mutex_unlock(&lock);
}

HOOK CUresult cuInit(unsigned int Flags)
{
    CUresult result = FORWARD(cuInit, Flags);
    if (result == CUDA_SUCCESS)
        watcher_start();
    return result;
}
