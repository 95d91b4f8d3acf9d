/* The ledger of live blocks: a hash table under one lock. */
#include <pthread.h>
#include <stdlib.h>

#include "limit.h"

enum { BUCKETS = 4096 };

static struct block *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_ledger(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_ledger(void)
{
    pthread_mutex_unlock(&lock);
}

/* A child forked while another thread held the lock could never take it. */
__attribute__((constructor)) static void keep_lock_over_fork(void)
{
    pthread_atfork(lock_ledger, unlock_ledger, unlock_ledger);
}

/* Blocks are aligned, so the low bits are always the same. */
static struct block **bucket_of(uint64_t address)
{
    return &buckets[(address * 0x9e3779b97f4a7c15u) >> 52];
}

static void insert(struct block *block)
{
    struct block **bucket = bucket_of(block->address);
    lock_ledger();
    block->next = *bucket;
    *bucket = block;
    unlock_ledger();
}

static CUcontext owner(void)
{
    CUcontext context = NULL;
    cuCtxGetCurrent(&context);
    return context;
}

/* Out of host memory: the block stays counted for good, which is safe. */
void ledger_add(enum block_kind kind, uint64_t address, CUdevice device, size_t bytes)
{
    struct block *block = malloc(sizeof *block);
    if (!block)
        return;
    *block = (struct block){kind, address, device, bytes, owner(), NULL};
    insert(block);
}

struct block *ledger_take(enum block_kind kind, uint64_t address)
{
    lock_ledger();
    struct block **link = bucket_of(address);
    while (*link && ((*link)->address != address || (*link)->kind != kind))
        link = &(*link)->next;
    struct block *block = *link;
    if (block)
        *link = block->next;
    unlock_ledger();
    return block;
}

static void forget(struct block *block)
{
    limit_give_back(block->device, block->bytes);
    free(block);
}

CUresult ledger_settle(struct block *block, CUresult result)
{
    if (block && result == CUDA_SUCCESS)
        forget(block);
    else if (block)
        insert(block);
    return result;
}

static void forget_in(struct block **link, CUcontext context)
{
    while (*link) {
        struct block *block = *link;
        if (block->context != context) {
            link = &block->next;
            continue;
        }
        *link = block->next;
        forget(block);
    }
}

void ledger_forget_context(CUcontext context)
{
    if (!context)
        return;
    lock_ledger();
    for (int i = 0; i < BUCKETS; i++)
        forget_in(&buckets[i], context);
    unlock_ledger();
}
