/* A hook library whose books are in a file that all processes map, as in quota libraries, with the classic mistake: the
   mutex in it is not robust, so a process that is killed inside leaves it locked for all others.

   REGION_FILE names the file, REGION_LIMIT the bytes that all processes may have together, REGION_SLOW milliseconds that
   each one stays inside the lock. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "gdbcuda_api.h"

#define EXPORT __attribute__((visibility("default")))
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum { DEVICES = 16, CHUNKS = 1024 };

struct region {
    int ready;
    pid_t owner;
    pthread_mutex_t lock;
    size_t used[DEVICES];
    size_t limit;
};

struct chunk {
    CUdeviceptr start;
    size_t bytes;
};

static struct region *region;
static struct chunk chunks[CHUNKS];

static size_t number_from(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : 0;
}

static struct region *map_region(void)
{
    const char *file = getenv("REGION_FILE");
    int descriptor = open(file ? file : "/tmp/region_hook.region", O_RDWR | O_CREAT, 0666);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(struct region)) != 0)
        abort();
    void *found = mmap(NULL, sizeof(struct region), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (found == MAP_FAILED)
        abort();
    return found;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_mutexattr_t shared;
    region = map_region();
    if (__atomic_exchange_n(&region->ready, 1, __ATOMIC_ACQ_REL))
        return;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&region->lock, &shared);
    region->limit = number_from("REGION_LIMIT");
}

static void enter(void)
{
    size_t slow = number_from("REGION_SLOW");
    struct timespec time = {(time_t)(slow / 1000), (long)(slow % 1000) * 1000000};
    pthread_mutex_lock(&region->lock);
    region->owner = getpid();
    nanosleep(&time, NULL);
}

static void leave(void)
{
    region->owner = 0;
    pthread_mutex_unlock(&region->lock);
}

static int oom_check(int device, size_t bytes)
{
    return region->limit && region->used[device] + bytes > region->limit;
}

static void add_chunk(CUdeviceptr start, size_t bytes)
{
    for (int i = 0; i < CHUNKS; i++)
        if (!chunks[i].start) {
            chunks[i] = (struct chunk){start, bytes};
            break;
        }
    region->used[0] += bytes;
}

static void remove_chunk(CUdeviceptr start)
{
    for (int i = 0; i < CHUNKS; i++)
        if (chunks[i].start == start) {
            region->used[0] -= chunks[i].bytes;
            chunks[i].start = 0;
        }
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    enter();
    if (!oom_check(0, bytesize))
        result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    if (result == CUDA_SUCCESS)
        add_chunk(*dptr, bytesize);
    leave();
    return result;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    enter();
    if (result == CUDA_SUCCESS)
        remove_chunk(dptr);
    leave();
    return result;
}
