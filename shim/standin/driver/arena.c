/* Addresses that the stand-in alone hands out. malloc and mmap never use them, not even after a release: as with a
 * driver, a freed block's address is not the program's own memory a moment later. */
#include "driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 512, SMALL = 1 << 20, STEP = PHYSICAL_GRANULARITY, PAGE = 4096, CLASSES = SMALL / ALIGNMENT };
enum { RESERVED = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
#define PLACE ((char *)0x200000000000) /* of no program, C library, allocator or sanitizer; a wish */
#define ARENA ((size_t)4 << 40)

/* What was released. The notes are elsewhere: who writes into freed memory breaks no list. */
struct gap {
    struct gap *next;
    char *start;
    size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *start, *next_large, *end, *next_small, *end_small;
static struct gap *small_gaps[CLASSES + 1], *large_gaps;

bool arena_empty(void *at, size_t bytes)
{
    void *found = mmap(at, bytes, PROT_NONE, RESERVED | MAP_FIXED, -1, 0);

    return found != MAP_FAILED && !madvise(at, bytes, MADV_DONTDUMP); /* gcore would write terabytes of nothing */
}

bool arena_fill(void *at, size_t bytes)
{
    return !mprotect(at, bytes, PROT_READ | PROT_WRITE) && !madvise(at, bytes, MADV_DODUMP);
}

/* Where addresses are short (ulimit -v), most are left to the program. */
static bool reserve_arena(void)
{
    size_t size = ARENA;
    char *found = mmap(PLACE, size, PROT_NONE, RESERVED, -1, 0);

    while (found == MAP_FAILED && size > STEP) {
        size /= 4;
        found = mmap(NULL, size, PROT_NONE, RESERVED, -1, 0);
    }
    if (found == MAP_FAILED)
        return false;
    if (size < ARENA)
        munmap(found + size / 4, size - size / 4);
    start = found;
    end = found + (size < ARENA ? size / 4 : size);
    madvise(start, (size_t)(end - start), MADV_DONTDUMP);
    next_large = (char *)(((uintptr_t)start + STEP - 1) / STEP * STEP);
    return true;
}

static size_t rounded(size_t bytes, size_t step)
{
    return (bytes + step - 1) / step * step;
}

/* The first gap of at least so many bytes, of exactly as many at first. */
static char *take_gap(struct gap **list, size_t size, bool exact)
{
    for (; *list; list = &(*list)->next) {
        struct gap *gap = *list;
        if (exact ? gap->size != size : gap->size < size)
            continue;
        char *found = gap->start;
        gap->start += size;
        gap->size -= size;
        if (!gap->size) {
            *list = gap->next;
            free(gap);
        }
        return found;
    }
    return NULL;
}

static void put_gap(struct gap **list, char *at, size_t size)
{
    struct gap *gap = malloc(sizeof *gap);

    if (!gap)
        return; /* these addresses are not used again */
    *gap = (struct gap){*list, at, size};
    *list = gap;
}

static char *take_gap_at(const char *wish, size_t size)
{
    for (struct gap **gap = &large_gaps; *gap; gap = &(*gap)->next)
        if ((*gap)->start == wish && (*gap)->size >= size)
            return take_gap(gap, size, false);
    return NULL;
}

/* Without memory behind them. */
static char *take_large(const char *wish, size_t size)
{
    if (!start && !reserve_arena())
        return NULL;
    char *found = wish ? take_gap_at(wish, size) : take_gap(&large_gaps, size, true);
    if (found || (wish && wish != next_large))
        return found;
    if (size > (size_t)(end - next_large))
        return wish ? NULL : take_gap(&large_gaps, size, false);
    next_large += size;
    return next_large - size;
}

static bool more_small(void)
{
    char *slab = take_large(NULL, STEP);

    if (!slab || !arena_fill(slab, STEP))
        return false;
    if (next_small != end_small)
        put_gap(&small_gaps[(end_small - next_small) / ALIGNMENT], next_small, (size_t)(end_small - next_small));
    next_small = slab;
    end_small = slab + STEP;
    return true;
}

static char *take_small(size_t size)
{
    char *found = take_gap(&small_gaps[size / ALIGNMENT], size, true);

    if (found)
        return memset(found, 0, size); /* as fresh pages are: runs can be compared */
    if (size > (size_t)(end_small - next_small) && !more_small())
        return NULL;
    next_small += size;
    return next_small - size;
}

void *arena_reserve(const void *wish, size_t bytes)
{
    pthread_mutex_lock(&lock);
    char *found = take_large(wish, rounded(bytes, STEP));
    pthread_mutex_unlock(&lock);
    return found;
}

bool arena_release(void *at, size_t bytes)
{
    pthread_mutex_lock(&lock);
    bool is_ours = start && start <= (char *)at && (char *)at < end;
    if (is_ours && arena_empty(at, rounded(bytes, STEP)))
        put_gap(&large_gaps, at, rounded(bytes, STEP));
    pthread_mutex_unlock(&lock);
    return is_ours;
}

void *arena_allocate(size_t bytes)
{
    if (bytes >= SMALL) {
        void *found = arena_reserve(NULL, bytes);
        if (!found || arena_fill(found, rounded(bytes, PAGE)))
            return found;
        arena_release(found, bytes);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    char *found = take_small(rounded(bytes, ALIGNMENT));
    pthread_mutex_unlock(&lock);
    return found;
}

void arena_free(void *at, size_t bytes)
{
    size_t size = rounded(bytes, ALIGNMENT);

    if (bytes >= SMALL) {
        arena_release(at, bytes);
        return;
    }
    pthread_mutex_lock(&lock);
    put_gap(&small_gaps[size / ALIGNMENT], at, size);
    pthread_mutex_unlock(&lock);
}
