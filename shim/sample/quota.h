/* What a hook library needs that holds a limit: QUOTA in bytes is how much of the device may be had, by this process, or
   by all that name the same file in QUOTA_REGION. Kept small: one device, and a table of fixed length. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gdbcuda_api.h"

#define EXPORT __attribute__((visibility("default")))
#define NEXT(name)                                                                                                     \
    __extension__({                                                                                                    \
        static void *next;                                                                                             \
        (__typeof__(&name))next_function(#name, &next);                                                                \
    })
#define UNUSED __attribute__((unused))

#ifndef MOST_PROCESSES
#define MOST_PROCESSES 128
#endif
#ifndef MOST_BLOCKS
#define MOST_BLOCKS 4096
#endif

struct share {
    pid_t pid;
    size_t bytes;
};

struct region {
    bool ready;
    pthread_mutex_t lock;
    struct share shares[MOST_PROCESSES];
};

static struct region own, *region = &own;
static struct {
    uint64_t address;
    size_t bytes;
} blocks[MOST_BLOCKS];
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

#ifndef LOCK_KIND
#define LOCK_KIND PTHREAD_MUTEX_ROBUST
#endif

/* A program that loads this library by itself has the driver nowhere behind it. dlsym has a lock: a handler that comes to
   it while its thread is in it would wait for itself, so it is asked once and no signal comes meanwhile. */
static void *next_function(const char *name, void **known)
{
    void *next = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (!next) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        next = dlsym(RTLD_NEXT, name);
        next = next ? next : dlsym(dlopen("libcuda.so.1", RTLD_LAZY), name);
        __atomic_store_n(known, next, __ATOMIC_RELEASE);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return next;
}

static void make_ready(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&kind, LOCK_KIND);
    pthread_mutex_init(&region->lock, &kind);
    region->ready = true;
}

#ifndef OWN_SIGNALS
static _Thread_local sigset_t signals;

/* A handler that calls the driver while its thread has a lock would wait for itself. */
static void hold_signals(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    signals = before;
}

static void let_signals(void)
{
    sigset_t before = signals;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
#endif

static void lock_blocks(void)
{
    hold_signals();
    pthread_mutex_lock(&blocks_lock);
}

static void unlock_blocks(void)
{
    pthread_mutex_unlock(&blocks_lock);
    let_signals();
}

/* A region of its own has a lock of its own, which the child cannot give back: it is another process's. */
static void before_fork(void)
{
    hold_signals();
    if (region == &own)
        pthread_mutex_lock(&own.lock);
    pthread_mutex_lock(&blocks_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&blocks_lock);
    if (region == &own)
        pthread_mutex_unlock(&own.lock);
    let_signals();
}

static void in_child(void)
{
    pthread_mutex_unlock(&blocks_lock);
    if (region == &own)
        make_ready();
    let_signals();
}

/* The kernel takes the lock of a file back when a process ends; close does not, for a mapping keeps the file open. */
__attribute__((constructor)) static void open_region(void)
{
    const char *path = getenv("QUOTA_REGION");
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0 && flock(file, LOCK_EX) == 0 && ftruncate(file, sizeof own) == 0) {
        void *there = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (there != MAP_FAILED)
            region = there;
    }
    if (!region->ready)
        make_ready();
    if (file >= 0) {
        flock(file, LOCK_UN);
        close(file);
    }
    pthread_atfork(before_fork, after_fork, in_child);
}

static void lock_region(void)
{
    hold_signals();
    if (pthread_mutex_lock(&region->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&region->lock);
}

static void unlock_region(void)
{
    pthread_mutex_unlock(&region->lock);
    let_signals();
}

static UNUSED size_t limit(void)
{
    const char *text = getenv("QUOTA");
    return text ? strtoull(text, NULL, 10) : SIZE_MAX;
}

#ifndef IS_GONE
#define IS_GONE(pid) (kill(pid, 0) != 0 && errno == ESRCH)
#endif

/* Call with the lock held. */
static size_t used_by_all(void)
{
    size_t bytes = 0;
    for (int i = 0; i < MOST_PROCESSES; i++) {
        struct share *share = &region->shares[i];
        if (share->pid && IS_GONE(share->pid))
            *share = (struct share){0, 0};
        bytes += share->bytes;
    }
    return bytes;
}

/* Call with the lock held. */
static struct share *own_share(void)
{
    struct share *unused = &region->shares[0];
    for (int i = 0; i < MOST_PROCESSES; i++) {
        if (region->shares[i].pid == getpid())
            return &region->shares[i];
        if (!region->shares[i].pid)
            unused = &region->shares[i];
    }
    unused->pid = getpid();
    return unused;
}

static UNUSED size_t used(void)
{
    lock_region();
    size_t bytes = used_by_all();
    unlock_region();
    return bytes;
}

static UNUSED bool claim(size_t bytes)
{
    lock_region();
    size_t before = used_by_all();
    bool granted = before <= limit() && bytes <= limit() - before;
    if (granted)
        own_share()->bytes += bytes;
    unlock_region();
    return granted;
}

static UNUSED void take(size_t bytes)
{
    lock_region();
    own_share()->bytes += bytes;
    unlock_region();
}

static UNUSED void give_back(size_t bytes)
{
    lock_region();
    own_share()->bytes -= bytes;
    unlock_region();
}

static UNUSED void remember(uint64_t address, size_t bytes)
{
    lock_blocks();
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (!blocks[i].bytes) {
            blocks[i].address = address;
            blocks[i].bytes = bytes;
            break;
        }
    unlock_blocks();
}

/* 0 for a block that is not known. */
static UNUSED size_t forget(uint64_t address)
{
    size_t bytes = 0;
    lock_blocks();
    for (int i = 0; i < MOST_BLOCKS && !bytes; i++)
        if (blocks[i].bytes && blocks[i].address == address) {
            bytes = blocks[i].bytes;
            blocks[i].bytes = 0;
        }
    unlock_blocks();
    return bytes;
}

static UNUSED CUresult counted(CUresult result, uint64_t address, size_t bytes)
{
    if (result == CUDA_SUCCESS)
        remember(address, bytes);
    else
        give_back(bytes);
    return result;
}

/* What the driver has said to a release of `bytes` that were forgotten already. */
static UNUSED CUresult released(CUresult result, uint64_t address, size_t bytes)
{
    if (bytes && result == CUDA_SUCCESS)
        give_back(bytes);
    else if (bytes)
        remember(address, bytes);
    return result;
}

#ifndef OWN_ALLOC
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, bytesize);
}
#endif

#ifndef OWN_FREE
/* Forgotten before the driver gives the address to another thread. */
EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    size_t bytes = forget(dptr);
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    return released(result, dptr, bytes);
}
#endif

#ifndef OWN_INFO
EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    size_t taken = used(), left = taken < limit() ? limit() - taken : 0;
    if (result != CUDA_SUCCESS || (total && *total <= limit()))
        return result;
    if (total)
        *total = limit();
    if (free)
        *free = left;
    return result;
}
#endif
