/* A ring for each thread. Nothing here calls libc, takes a lock or touches errno. */
#ifndef GDBCUDA_RING_H
#define GDBCUDA_RING_H

#include "shape.h"

typedef unsigned long word;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* A processor that comes from other code foresees no branch: what nearly all calls do is without a jump. */
#define RARELY(it) __builtin_expect(!!(it), 0)

extern word gdbcuda_recorder_v1[STATE_SIZE];
extern word gdbcuda_functions_v1[MOST_FUNCTIONS * FUNCTION_SIZE];

extern __thread word *gdbcuda_ring __attribute__((tls_model("initial-exec"), visibility("hidden")));
#define BUSY ((word *)1) /* the ring is being made: a signal handler must not make another one */

/* Bytes. */
static inline word ring_size(word records)
{
    return (RING_HEADER + records * RING_RECORD + PAST_ROOM) * sizeof(word);
}

#define FEWEST 16 /* records of a ring, of 16 KB: so many a thread gets wherever there is room for them */
#define FEW_RINGS 64 /* that a program traced without a debugger has at once, unless more of its threads live */

/* Makes the calling thread's; 0 where there is none, which is counted. */
word *ring_made(void);
/* But those that the processor sends; the second with what the first has said. */
word signals_held(void);
void signals_come(word before);

static inline word *ring_here(void)
{
    word *ring = gdbcuda_ring;
    if (RARELY(ring <= BUSY) || RARELY(!ring[RING_RECORDS]) || RARELY(gdbcuda_recorder_v1[STATE_CONFINED] == NO_TICKS))
        return ring_made();
    return ring;
}

/* ring_memory.c. Memory for so many records or fewer, which are written there; 0 where there is none. */
word *ring_mapped(word *records);
word room_to_spare(void); /* bytes that something else of ours may map */

/* The calling thread records nothing any more. */
void ring_give_up(void);

void ring_look_at_clock(word *ring);

/* Says now and then what time it is. */
static inline void ring_tell_time(word *ring, word ticks)
{
    if (RARELY(ticks - ring[RING_LATER_TICKS] > PAIR_EVERY))
        ring_look_at_clock(ring);
}

extern word ring_few;

/* Where rings are kept in files: the records of a new ring get one, as does what time it is, and what there is not. The
 * first says how many records there is room for, of those that are wanted; 0 where the ring may not be used. */
__attribute__((weak)) word ring_keep(word *ring, word wanted);
__attribute__((weak)) void ring_told_time(word *ring);
__attribute__((weak)) void ring_failed(void);
__attribute__((weak)) void ring_missed(void); /* one call, by any thread */

/* One word for the Python that runs in the calling thread; 0 where there is none, or none that is known. */
__attribute__((weak, visibility("hidden"))) word python_stack(const word *ring, word ticks);

long system_call(long number, word a, word b, word c, word d, word e, word f);
#define FAILED(result) ((word)(result) >= (word)-4095) /* of a system call */

static inline word ticks_now(void)
{
    unsigned low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (word)high << 32 | low;
}

/* No other thread adds to it; a signal handler of this one may: one instruction. */
static inline word add_here(word *to, word amount)
{
    __asm__ volatile("xadd %0, %1" : "+r"(amount), "+m"(*to) : : "memory");
    return amount;
}

#define COMPILER_KEEPS_ORDER() __asm__ volatile("" : : : "memory") /* the processor keeps that of stores */

#endif
