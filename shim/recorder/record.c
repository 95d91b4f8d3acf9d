/* What is noted at the entry and at the return of a recorded call. */
#include "ring.h"

#include <sys/syscall.h>
#include <sys/uio.h>

static word *function_of(const word *frame)
{
    return gdbcuda_functions_v1 + frame[FRAME_FUNCTION] * FUNCTION_SIZE;
}

#define PAGE 4096ul
#define SEEN_FOR (1ul << 20) /* ticks */
#define WRITTEN_FOR (1ul << 24) /* the same where the function that has succeeded says that it has written there */

typedef struct {
    word value;
} __attribute__((packed)) anywhere;

/* The kernel takes a microsecond to say that a page can be read. */
static word *where_seen(word *ring, word page)
{
    return ring + SEEN_AT + page % SEEN * 2;
}

static int was_just_readable(word *ring, word from, word size, word ticks, word lasts)
{
    word page = from / PAGE;
    const word *seen = where_seen(ring, page);
    return (from + size - 1) / PAGE == page && seen[0] == page && ticks - seen[1] < lasts;
}

static void copy(word *to, word from, word size)
{
    word i = 0;
    for (; i + sizeof(word) <= size; i += sizeof(word))
        to[i / sizeof(word)] = ((anywhere *)(from + i))->value;
    for (; i < size; i++)
        ((char *)to)[i] = ((char *)from)[i];
}

/* As another process would read it: a pointer that leads nowhere is no fault of the program's. Of a text what is there. */
static word ask_kernel(word *ring, word *to, word from, word size, word is_text, word ticks)
{
    word near = PAGE - from % PAGE, first = near < size ? near : size;
    struct iovec here = {to, size}, there[] = {{(void *)from, first}, {(void *)(from + first), size - first}};
    long got = system_call(SYS_process_vm_readv, ring[RING_PID], (word)&here, 1, (word)there, 1 + (first < size), 0);
    if (got < (long)first)
        return NOT_READ;
    word *seen = where_seen(ring, from / PAGE);
    seen[1] = 0;
    seen[0] = from / PAGE;
    seen[1] = ticks;
    return got == (long)size || is_text ? (word)got : NOT_READ;
}

static word peek(word *ring, word *to, word from, word size, word is_text, word ticks, word lasts)
{
    if (!from || gdbcuda_recorder_v1[STATE_CONFINED])
        return NOT_READ;
    if (!was_just_readable(ring, from, size, ticks, lasts))
        return ask_kernel(ring, to, from, size, is_text, ticks);
    copy(to, from, size);
    return size;
}

/* Each its size, then its bytes; `wanted` are words as FUNCTION_OUTS and FUNCTION_INS have them. */
static void note_pointees(const word *wanted, word count, word *ring, word *record, word *to, word room, word ticks,
                          word lasts)
{
    word at = 0;
    for (word i = 0; i < count; i++) {
        word index = wanted[i] & 0xff, size = wanted[i] >> 8 & 0xffffff;
        word words = (size + sizeof(word) - 1) / sizeof(word);
        if (index >= REGISTERS + STACK_WORDS || words >= room - at)
            return;
        to[at] = peek(ring, to + at + 1, record[RECORD_REGISTERS + index], size, wanted[i] & IS_TEXT, ticks,
                      lasts);
        at += 1 + words;
    }
}

/* Of the call whose return leaves the stack pointer at `top`; it makes work for a GPU. */
static void tell_of_begin(const word *function, word thread, word position, word top)
{
    word told = gdbcuda_recorder_v1[STATE_AROUND];
    if (function[FUNCTION_MAKES_WORK] && told)
        ((void (*)(word, word, word))told)(thread, position, top);
}

static void tell_of_end(const word *function, word top)
{
    word told = gdbcuda_recorder_v1[STATE_BEHIND];
    if (function[FUNCTION_MAKES_WORK] && told)
        ((void (*)(word))told)(top);
}

/* By the frame pointers of those who keep them. Where one leads nowhere, or not up the stack, nobody is further up. */
static void note_callers(word *ring, word *record, const word *caller, word most, word ticks)
{
    word frame = caller[-1], below = (word)caller, count = 0, pair[2];
    while (count < most && count < MOST_CALLERS && frame > below && !(frame % sizeof(word)) &&
           peek(ring, pair, frame, sizeof pair, 0, ticks, SEEN_FOR) == sizeof pair && pair[1]) {
        record[RECORD_CALLERS + count++] = pair[1];
        below = frame;
        frame = pair[0];
    }
    if (count < MOST_CALLERS)
        record[RECORD_CALLERS + count] = 0;
}

void gdbcuda_entered(word *frame)
{
    const word *function = function_of(frame), *caller = frame + FRAME_SIZE + 2; /* behind rax and rbp */
    word *ring = ring_here();
    frame[FRAME_ORIGINAL] = function[FUNCTION_ORIGINAL];
    frame[FRAME_STACK] = function[FUNCTION_STACK];
    frame[FRAME_RECORD] = 0;
    if (!ring)
        return;

    word records = *(volatile word *)&ring[RING_RECORDS]; /* 0 since a debugger wants the ring begun again */
    if (!records)
        return;

    word position = add_here(&ring[RING_HEAD], 1);
    word *record = ring + RING_HEADER + (position & (records - 1)) * RECORD_SIZE;
    record[RECORD_POSITION] = 0;
    COMPILER_KEEPS_ORDER();
    record[RECORD_DONE] = 0;
    record[RECORD_FUNCTION] = frame[FRAME_FUNCTION];
    record[RECORD_BACK] = caller[0];
    record[RECORD_TOP] = (word)(caller + 1);
    for (word i = 0; i < REGISTERS; i++)
        record[RECORD_REGISTERS + i] = frame[FRAME_REGISTERS + i];
    for (word i = 0; i < FLOATS && i < function[FUNCTION_FLOATS]; i++)
        record[RECORD_FLOATS + i] = frame[FRAME_FLOATS + i];
    for (word i = 0; i < STACK_WORDS && i < frame[FRAME_STACK]; i++)
        record[RECORD_STACK + i] = caller[1 + i];
    if (function[FUNCTION_IN_COUNT])
        note_pointees(function + FUNCTION_INS, function[FUNCTION_IN_COUNT] % (MOST_INS + 1), ring, record,
                      record + RECORD_INS, IN_WORDS, ticks_now(), SEEN_FOR);
    if (gdbcuda_recorder_v1[STATE_CALLERS])
        note_callers(ring, record, caller, gdbcuda_recorder_v1[STATE_CALLERS], ticks_now());
    frame[FRAME_RING] = (word)ring;
    frame[FRAME_RECORD] = (word)record;
    frame[FRAME_POSITION] = position + 1;
    tell_of_begin(function, ring[RING_LWP], position + 1, (word)(caller + 1));
    word ticks = ticks_now();
    record[RECORD_ENTERED] = ticks;
    COMPILER_KEEPS_ORDER();
    record[RECORD_POSITION] = position + 1;
    ring_tell_time(ring, ticks);
}

/* The call may return in another thread than it began in, or in a forked child, where the record is not any more. */
void gdbcuda_left(word *frame)
{
    word *record = (word *)frame[FRAME_RECORD], *ring = (word *)frame[FRAME_RING];
    const word *function = function_of(frame);
    if (!record || gdbcuda_recorder_v1[STATE_CONFINED] == NO_TICKS)
        return;
    word ticks = ticks_now();
    tell_of_end(function, (word)(frame + FRAME_SIZE + 3));
    if (!ring[RING_RECORDS] || record[RECORD_POSITION] != frame[FRAME_POSITION])
        return;
    record[RECORD_LEFT] = ticks;
    record[RECORD_RESULT] = frame[FRAME_RESULT];
    if (!(int)frame[FRAME_RESULT] && function[FUNCTION_OUT_COUNT])
        note_pointees(function + FUNCTION_OUTS, function[FUNCTION_OUT_COUNT] % (MOST_OUTS + 1), ring, record,
                      record + RECORD_OUTS, OUT_WORDS, ticks, WRITTEN_FOR);
    if (!(int)frame[FRAME_RESULT] && function[FUNCTION_AFTER])
        ((void (*)(const word *))function[FUNCTION_AFTER])(record);
    COMPILER_KEEPS_ORDER();
    record[RECORD_DONE] = frame[FRAME_POSITION];
}
