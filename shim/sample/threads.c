/* threads [THREADS [CALLS]]: every thread makes exactly CALLS driver calls (allocate, fill, read back, free; which and
   how large comes from a generator seeded with the thread's number), counts them by function, and sums up what it read
   back. The output depends on the two arguments alone. Exit status 0, or 2 if a call failed. */
#include <pthread.h>
#include <stdint.h>

#include "driver_sample.h"

enum { ALLOC, FREE, SET, READ, KINDS, SLOTS = 8, MOST_THREADS = 256 };
static const char *const kind_names[KINDS] = {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8_v2", "cuMemcpyDtoH_v2"};

struct worker {
    pthread_t thread;
    uint64_t random, checksum;
    int calls, made[KINDS];
    CUcontext context;
    CUdeviceptr slots[SLOTS];
};

/* Knuth's MMIX generator; the high bits are the good ones. */
static unsigned int next_random(struct worker *worker, unsigned int below)
{
    worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned int)(worker->random >> 33) % below;
}

static void allocate(struct worker *worker, CUdeviceptr *slot)
{
    size_t bytes = 256 + next_random(worker, 65536);
    must("cuMemAlloc_v2", cuMemAlloc_v2(slot, bytes));
    worker->made[ALLOC]++;
}

static void release(struct worker *worker, CUdeviceptr *slot)
{
    must("cuMemFree_v2", cuMemFree_v2(*slot));
    *slot = 0;
    worker->made[FREE]++;
}

static void set(struct worker *worker, CUdeviceptr block)
{
    must("cuMemsetD8_v2", cuMemsetD8_v2(block, (unsigned char)next_random(worker, 256), 256));
    worker->made[SET]++;
}

static void read_back(struct worker *worker, CUdeviceptr block)
{
    unsigned char bytes[256];
    must("cuMemcpyDtoH_v2", cuMemcpyDtoH_v2(bytes, block, sizeof bytes));
    worker->made[READ]++;
    for (size_t i = 0; i < sizeof bytes; i++)
        worker->checksum = (worker->checksum ^ bytes[i]) * 1099511628211u; /* FNV-1a */
}

/* A block is set before it is read: what a new block holds is not ours to sum up. */
static int use_slot(struct worker *worker, CUdeviceptr *slot, int calls_left)
{
    if (!*slot)
        return allocate(worker, slot), 1;
    if (calls_left < 2 || next_random(worker, 4) == 0)
        return release(worker, slot), 1;
    set(worker, *slot);
    read_back(worker, *slot);
    return 2;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    must("cuCtxSetCurrent", cuCtxSetCurrent(worker->context));
    for (int made = 0; made < worker->calls;)
        made += use_slot(worker, &worker->slots[next_random(worker, SLOTS)], worker->calls - made);
    return NULL;
}

static void show(int number, const struct worker *worker)
{
    printf("thread %d: %d calls:", number, worker->calls);
    for (int kind = 0; kind < KINDS; kind++)
        printf(" %s %d", kind_names[kind], worker->made[kind]);
    printf(", checksum %016llx\n", (unsigned long long)worker->checksum);
}

static void start(struct worker *worker, int number, int calls)
{
    worker->random = (uint64_t)number + 1;
    worker->calls = calls;
    must("cuCtxGetCurrent", cuCtxGetCurrent(&worker->context));
    if (pthread_create(&worker->thread, NULL, work, worker) != 0)
        exit(2);
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST_THREADS];
    int threads = argc > 1 ? atoi(argv[1]) : 8, calls = argc > 2 ? atoi(argv[2]) : 2500;
    if (threads < 1 || threads > MOST_THREADS || calls < 0)
        return 2;
    use_first_device();
    for (int i = 0; i < threads; i++)
        start(&workers[i], i, calls);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < threads; i++)
        show(i, &workers[i]);
    return 0;
}
