#include "ring.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define FIRST_PAIRS_APART 20000 /* ns */
#define FRONTS_AHEAD 1024 /* 32 pages; more than come between two looks at the clock, where there is other work */
#define MORE_AHEAD 8192   /* 16 */

#define INT3 0xcc

#define EXPORTED __attribute__((visibility("protected")))

EXPORTED word gdbcuda_recorder_v1[STATE_SIZE] = {[STATE_VERSION] = VERSION, [STATE_RECORDS] = 1 << 13};
EXPORTED __attribute__((aligned(64))) word gdbcuda_functions_v1[MOST_FUNCTIONS * FUNCTION_SIZE];
extern word recorder_here[STATE_SIZE] __attribute__((alias("gdbcuda_recorder_v1"), visibility("hidden"))); /* through.S */
extern word functions_here[MOST_FUNCTIONS * FUNCTION_SIZE]
    __attribute__((alias("gdbcuda_functions_v1"), visibility("hidden")));
EXPORTED word gdbcuda_left_v1[LEFT_SIZE]; /* gdb's own */
__thread word *gdbcuda_ring __attribute__((tls_model("initial-exec"))); /* no function of libc finds it */
static __thread word room __attribute__((tls_model("initial-exec")));    /* how many records it has memory for */

long system_call(long number, word a, word b, word c, word d, word e, word f)
{
    register word r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}

static word nanoseconds(void)
{
    struct timespec now = {0, 0};
    system_call(SYS_clock_gettime, CLOCK_MONOTONIC, (word)&now, 0, 0, 0, 0);
    return (word)now.tv_sec * 1000000000 + (word)now.tv_nsec;
}

static void write_later_pair(word *ring)
{
    ring[RING_LATER_NS] = 0;
    COMPILER_KEEPS_ORDER();
    ring[RING_LATER_TICKS] = ticks_now();
    word now = nanoseconds();
    COMPILER_KEEPS_ORDER();
    ring[RING_LATER_NS] = now;
}

/* Of what is used piece by piece, `size` bytes each and a power of two of them. The first write to a page is a fault of
 * some microseconds; many pages at once take a quarter of that each. (madvise(2); Linux 5.14) */
static void ask_for_pages(word at, word size, word pieces, word used, word begun, word ahead, word *soon)
{
    if (used - begun < ahead / 4 || *soon - begun >= pieces || used + ahead / 2 < *soon)
        return; /* it makes few calls, or all are there, or enough */
    word first = *soon < used ? used : *soon, index = first & (pieces - 1), rest = pieces - index;
    word count = used + ahead - first < rest ? used + ahead - first : rest;
    word from = (at + index * size) & ~(word)(PAGE - 1), to = at + (index + count) * size;
    *soon = first + count;
    if (FAILED(system_call(SYS_madvise, from, to - from, MADV_POPULATE_WRITE, 0, 0, 0)))
        *soon = begun + pieces;
}

static void ask_for_pages_soon(word *ring)
{
    word records = ring[RING_RECORDS], fronts = (word)(ring + RING_HEADER), front = FRONT_SIZE * sizeof(word);
    ask_for_pages(fronts, front, records, ring[RING_HEAD], ring[RING_BEFORE], FRONTS_AHEAD, &ring[RING_FRONTS_SOON]);
    ask_for_pages(fronts + records * front, sizeof(word), records * MORE_ROOM, ring[RING_MORE], ring[RING_MORE_BEFORE],
                  MORE_AHEAD, &ring[RING_MORE_SOON]);
}

void ring_look_at_clock(word *ring)
{
    if (gdbcuda_recorder_v1[STATE_CONFINED])
        return;
    write_later_pair(ring);
    if (ring[RING_RECORDS])
        ask_for_pages_soon(ring);
    if (ring_told_time)
        ring_told_time(ring);
}

/* 0 where nothing may be noted in it. */
static word *ring_begun(word *ring, word records)
{
    ring[RING_BEFORE] = ring[RING_FRONTS_SOON] = ring[RING_HEAD];
    ring[RING_MORE_BEFORE] = ring[RING_MORE_SOON] = ring[RING_MORE];
    ring[RING_LWP] = (word)system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    ring[RING_PID] = (word)system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    ring[RING_FIRST_TICKS] = ticks_now();
    ring[RING_FIRST_NS] = nanoseconds();
    while (nanoseconds() < ring[RING_FIRST_NS] + FIRST_PAIRS_APART)
        ;
    write_later_pair(ring);
    if (ring_keep)
        records = ring_keep(ring, records);
    COMPILER_KEEPS_ORDER();
    ring[RING_RECORDS] = records;
    return records ? ring : 0;
}

/* By the ring with that number, from 0. */
static word records_wanted(word number)
{
    word wanted = gdbcuda_recorder_v1[STATE_RECORDS], shared = gdbcuda_recorder_v1[STATE_SHARED];
    while (shared && wanted > FEWEST && wanted * (number + 1) > shared)
        wanted >>= 1;
    return wanted < MOST_RECORDS ? wanted : MOST_RECORDS;
}

/* Whether it is the calling thread's from now on. What was noted in it is in a file. */
static int is_taken_over(word *ring, word pid, word thread)
{
    word before = __atomic_load_n(&ring[RING_LWP], __ATOMIC_ACQUIRE);
    return ring[RING_COPY] && ring[RING_PID] == pid && ring[RING_RECORDS] &&
           system_call(SYS_tgkill, pid, before, 0, 0, 0, 0) == -ESRCH &&
           __atomic_compare_exchange_n(&ring[RING_LWP], &before, thread, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void give_pages_back(word from, word to)
{
    from = (from + PAGE - 1) & ~(word)(PAGE - 1), to &= ~(word)(PAGE - 1);
    if (from < to)
        system_call(SYS_madvise, from, to - from, MADV_REMOVE, 0, 0, 0);
}

/* Of its file, what it has not come to: what is used piece by piece, from `begun` up to `used`, and round. */
static void give_unused_back(word at, word size, word pieces, word begun, word used)
{
    word first = used & (pieces - 1), end = first + pieces - (used - begun);
    if (used - begun >= pieces)
        return;
    give_pages_back(at + first * size, at + (end < pieces ? end : pieces) * size);
    if (end > pieces)
        give_pages_back(at, at + (end - pieces) * size);
}

static void give_rest_back(const word *ring)
{
    word records = ring[RING_RECORDS], fronts = (word)(ring + RING_HEADER), front = FRONT_SIZE * sizeof(word);
    give_unused_back(fronts, front, records, ring[RING_BEFORE], ring[RING_HEAD]);
    give_unused_back(fronts + records * front, sizeof(word), records * MORE_ROOM, ring[RING_MORE_BEFORE], ring[RING_MORE]);
}

/* From so many on, a thread takes over the ring of one that has ended. */
word ring_few = MOST_RINGS;

/* Programs that start a thread for each request have more than MOST_RINGS in time. */
static word *ring_of_ended(word *records)
{
    word pid = (word)system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), thread = (word)system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    for (word i = 0; i < MOST_RINGS; i++) {
        word *ring = (word *)__atomic_load_n(&gdbcuda_recorder_v1[STATE_RINGS + i], __ATOMIC_ACQUIRE);
        if (ring && is_taken_over(ring, pid, thread)) {
            give_rest_back(ring);
            *records = ring[RING_RECORDS];
            ring[RING_RECORDS] = 0;
            return ring;
        }
    }
    return 0;
}

static word *made(void)
{
    word *state = gdbcuda_recorder_v1, count = __atomic_load_n(&state[STATE_COUNT], __ATOMIC_SEQ_CST), number = MOST_RINGS;
    word wanted = records_wanted(count), records = wanted;
    word *ring = count < ring_few ? 0 : ring_of_ended(&records);
    if (!ring) {
        number = __atomic_fetch_add(&state[STATE_COUNT], 1, __ATOMIC_SEQ_CST);
        ring = number < MOST_RINGS ? ring_mapped(&records) : 0;
    }
    if (!ring)
        return 0;
    room = records;
    ring[RING_WANTED] = wanted;
    word *found = ring_begun(ring, records);
    if (number < MOST_RINGS)
        __atomic_store_n(&state[STATE_RINGS + number], (word)ring, __ATOMIC_SEQ_CST);
    return found;
}

void ring_give_up(void)
{
    gdbcuda_ring = BUSY;
}

/* What the processor itself sends cannot wait: it would end the program. */
#define BIT(signal) (1ul << ((signal) - 1))
#define OF_PROCESSOR (BIT(SIGTRAP) | BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGSYS))

static word change_mask(int how, word mask)
{
    word before = 0;
    system_call(SYS_rt_sigprocmask, (word)how, (word)&mask, (word)&before, sizeof mask, 0, 0);
    return before;
}

/* Or one that a signal handler has made meanwhile. */
static word *made_or_found(void)
{
    word *ring = gdbcuda_ring;
    if (ring == BUSY || (ring && ring[RING_RECORDS]))
        return ring == BUSY ? 0 : ring;
    gdbcuda_ring = BUSY;
    if (ring && !ring[RING_WANTED]) /* a forked child's */
        ring[RING_WANTED] = room;
    ring = ring ? ring_begun(ring, room) : made();
    gdbcuda_ring = ring ? ring : BUSY;
    if (!ring && ring_failed)
        ring_failed();
    return ring;
}

word signals_held(void)
{
    return change_mask(SIG_BLOCK, ~OF_PROCESSOR);
}

void signals_come(word before)
{
    change_mask(SIG_SETMASK, before);
}

/* In a child that the debugger has let go. It may confine itself, and nobody would see that. */
static int is_left_alone(void)
{
    const volatile unsigned char *at = (const unsigned char *)gdbcuda_recorder_v1[STATE_LOOKED_ON];
    return at && *at != INT3;
}

/* A file of some megabytes takes milliseconds: the calls of signal handlers would have no ring meanwhile. */
word *ring_made(void)
{
    if (gdbcuda_ring != BUSY && !gdbcuda_recorder_v1[STATE_CONFINED] && !is_left_alone()) {
        word before = signals_held();
        word *ring = made_or_found();
        signals_come(before);
        if (ring)
            return ring;
    }
    __atomic_fetch_add(&gdbcuda_recorder_v1[STATE_MISSED], 1, __ATOMIC_RELAXED);
    if (ring_missed)
        ring_missed();
    return 0;
}
