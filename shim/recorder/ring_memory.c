/* Memory for a ring. Where the process may map only so much (ulimit -v, -d), what it has left is counted at that moment,
 * and 15 of 16 parts of it stay the program's: a ring is smaller then, or there is none. */
#include "ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PART_OF_LIMIT 32 /* what all rings share */
#define PART 16          /* what the next ring takes of the rest of that, and at most of what the process has left */
#define MOST_WAITS 10000

enum { ALL, RESIDENT, SHARED, CODE, LIBRARIES, DATA, COUNTS }; /* proc(5): /proc/PID/statm, in pages */

static word taken, maker;

/* A child that is forked gets zeros, and so an empty ring of its own. */
static word *ring_in_memory(word records)
{
    word size = ring_size(records);
    word at = (word)system_call(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (word)-1, 0);
    if (FAILED(at))
        return 0;
    if (system_call(SYS_madvise, at, size, MADV_WIPEONFORK, 0, 0, 0)) {
        system_call(SYS_munmap, at, size, 0, 0, 0, 0);
        return 0;
    }
    return (word *)at;
}

/* Bytes. */
static word limit_of(int which)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    system_call(SYS_prlimit64, 0, (word)which, 0, (word)&limit, 0, 0);
    return limit.rlim_cur;
}

static int are_read(word *counts)
{
    char text[256], *at = text;
    long file = system_call(SYS_open, (word)"/proc/self/statm", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
    if (FAILED(file))
        return 0;
    long size = system_call(SYS_read, (word)file, (word)text, sizeof text - 1, 0, 0, 0);
    system_call(SYS_close, (word)file, 0, 0, 0, 0, 0);
    text[FAILED(size) ? 0 : size] = 0;
    for (word i = 0; i < COUNTS; i++, at++)
        for (counts[i] = 0; *at >= '0' && *at <= '9'; at++)
            counts[i] = counts[i] * 10 + (word)(*at - '0');
    return counts[ALL] != 0;
}

static word smaller(word a, word b)
{
    return a < b ? a : b;
}

static word rest(word whole, word used)
{
    return used < whole ? whole - used : 0;
}

/* Bytes that leave the program its 15 parts; where nobody says what is used, none. */
static word spare_memory(word space, word data)
{
    word counts[COUNTS];
    if (smaller(space, data) == RLIM_INFINITY)
        return RLIM_INFINITY;
    return are_read(counts) ? smaller(rest(space, counts[ALL] * PAGE), rest(data, counts[DATA] * PAGE)) / PART : 0;
}

word room_to_spare(void)
{
    return spare_memory(limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA));
}

static word share(word space, word data)
{
    /* where the share is used up, each thread takes the least */
    word least = ring_size(FEWEST), part = rest(smaller(space, data) / PART_OF_LIMIT, taken) / PART;
    return smaller(spare_memory(space, data), part < least ? least : part);
}

/* One after the other: each counts what those before it have taken. In a forked child `maker` may be its parent. A signal
 * handler may have interrupted who makes one, so it is not waited for ever. */
static void wait_for_others(void)
{
    word pid = (word)system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    for (word i = 0; i < MOST_WAITS && __atomic_exchange_n(&maker, pid, __ATOMIC_ACQUIRE) == pid; i++)
        system_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

word *ring_mapped(word *records)
{
    word space = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
    if (smaller(space, data) == RLIM_INFINITY)
        return ring_in_memory(*records);
    wait_for_others();
    word most = share(space, data);
    while (*records > 1 && ring_size(*records) > most)
        *records >>= 1;
    word *ring = ring_size(*records) <= most ? ring_in_memory(*records) : 0;
    taken += ring ? ring_size(*records) : 0;
    __atomic_store_n(&maker, 0, __ATOMIC_RELEASE);
    return ring;
}
