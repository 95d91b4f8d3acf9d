/* What is noted at the entry and at the return of a recorded call. */
#include "ring.h"
#include "shape.h"

#include <sys/syscall.h>
#include <sys/uio.h>

_Static_assert(FRONT_SIZE * sizeof(word) == 1 << FRONT_SIZE_BITS && HAS_OUTS == 1ul << OUTS_BIT, "as through.S has them");
_Static_assert(FRAME_SIZE % 2, "the stack is aligned where through.S calls");

static word *rest_of(word *ring, word records, word index)
{
    return ring + RING_HEADER + records * FRONT_SIZE + index * REST_SIZE;
}

/* Of a word in FUNCTION_OUTS or FUNCTION_INS. */
static word index_of(word wanted)
{
    return wanted & 0xff;
}

static word size_of(word wanted)
{
    return wanted >> 8 & 0xffffff;
}

static word *function_of(const word *frame)
{
    return gdbcuda_functions_v1 + frame[FRAME_FUNCTION] * FUNCTION_SIZE;
}

#define SEEN_FOR (1ul << 20) /* ticks; WRITTEN_FOR where the function that has succeeded says that it has written there */

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
static void note_pointees(const word *wanted, word count, word *ring, const word *front, const word *rest, word *to,
                          word room, word ticks, word lasts)
{
    word at = 0;
    for (word i = 0; i < count; i++) {
        word index = index_of(wanted[i]), size = size_of(wanted[i]);
        word words = (size + sizeof(word) - 1) / sizeof(word);
        if (index >= REGISTERS + STACK_WORDS || words >= room - at)
            return;
        word from = index < REGISTERS ? front[FRONT_REGISTERS + index] : rest[REST_STACK + index - REGISTERS];
        to[at] = peek(ring, to + at + 1, from, size, wanted[i] & IS_TEXT, ticks, lasts);
        at += 1 + words;
    }
}

static int has_one_out(const word *function)
{
    return function[FUNCTION_OUT_COUNT] == 1 && size_of(function[FUNCTION_OUTS]) <= (FRONT_OUT_WORDS - 1) * sizeof(word);
}

static int has_plain_out(const word *function)
{
    word wanted = function[FUNCTION_OUTS], size = size_of(wanted);
    return function[FUNCTION_OUT_COUNT] == 1 && index_of(wanted) < REGISTERS && !(wanted & IS_TEXT) &&
           (size == sizeof(word) / 2 || size == sizeof(word));
}

/* What through.S asks before it leaves a call to gdbcuda_entered and gdbcuda_left. */
static word plain_shape(word found, int has_plain_out)
{
    word plain = found & (HAS_ARGUMENTS | HAS_CALLERS) ? 0 : IS_PLAIN;
    word more = found & (HAS_OUTS | IS_FOLLOWED) || (found & HAS_ONE_OUT && !has_plain_out) ? HAS_MORE_LEFT : 0;
    return plain | more | (has_plain_out ? HAS_PLAIN_OUT : 0);
}

static word shape_found(const word *function)
{
    word found = IS_KNOWN, is_one = has_one_out(function) ? HAS_ONE_OUT : HAS_OUTS;
    if (function[FUNCTION_STACK] | function[FUNCTION_FLOATS] | function[FUNCTION_IN_COUNT])
        found |= HAS_ARGUMENTS;
    if (function[FUNCTION_PYTHON])
        found |= HAS_CALLERS | WANTS_PYTHON;
    found |= (function[FUNCTION_OUT_COUNT] ? is_one : 0) | (function[FUNCTION_MAKES_WORK] ? TELLS : 0) |
             (function[FUNCTION_AFTER] ? IS_FOLLOWED : 0);
    return found | plain_shape(found, has_plain_out(function));
}

static inline word shape_of(word *function)
{
    if (RARELY(!function[FUNCTION_SHAPE]))
        function[FUNCTION_SHAPE] = shape_found(function);
    return function[FUNCTION_SHAPE];
}

/* By the frame pointers of those who keep them. Where one leads nowhere, or not up the stack, nobody is further up. */
static void note_callers(word *ring, word *callers, word count, const word *caller, word most, word ticks)
{
    word frame = caller[-1], below = (word)caller, pair[2];
    most += count;
    while (count < most && count < MOST_CALLERS && frame > below && !(frame % sizeof(word)) &&
           peek(ring, pair, frame, sizeof pair, 0, ticks, SEEN_FOR) == sizeof pair && pair[1]) {
        callers[count++] = pair[1];
        below = frame;
        frame = pair[0];
    }
    if (count < MOST_CALLERS)
        callers[count] = 0;
}

static void note_arguments(const word *function, const word *frame, word *ring, const word *front, word *rest)
{
    const word *caller = frame + FRAME_SIZE + 2;
    for (word i = 0; i < FLOATS && i < function[FUNCTION_FLOATS]; i++)
        rest[REST_FLOATS + i] = frame[FRAME_FLOATS + i];
    for (word i = 0; i < STACK_WORDS && i < frame[FRAME_STACK]; i++)
        rest[REST_STACK + i] = caller[1 + i];
    if (function[FUNCTION_IN_COUNT])
        note_pointees(function + FUNCTION_INS, function[FUNCTION_IN_COUNT] % (MOST_INS + 1), ring, front, rest,
                      rest + REST_INS, IN_WORDS, ticks_now(), SEEN_FOR);
}

static __attribute__((noinline)) void note_more(const word *function, const word *frame, word *ring, word parts,
                                                word *front, word *rest)
{
    const word *caller = frame + FRAME_SIZE + 2;
    if (parts & HAS_ARGUMENTS)
        note_arguments(function, frame, ring, front, rest);
    if (parts & HAS_CALLERS) {
        word ticks = ticks_now(), *callers = rest + REST_CALLERS;
        callers[0] = parts & WANTS_PYTHON && python_stack ? python_stack(ring, ticks) : 0;
        note_callers(ring, callers, callers[0] != 0, caller, gdbcuda_recorder_v1[STATE_CALLERS], ticks);
    }
    word told = gdbcuda_recorder_v1[STATE_AROUND];
    if (parts & TELLS && told) /* it makes work for a GPU */
        ((void (*)(word, word, word))told)(ring[RING_LWP], frame[FRAME_POSITION], (word)(caller + 1));
}

void gdbcuda_entered(word *frame)
{
    word *function = function_of(frame);
    const word *caller = frame + FRAME_SIZE + 2; /* behind rax and rbp */
    word *ring = ring_here();
    frame[FRAME_ORIGINAL] = function[FUNCTION_ORIGINAL];
    frame[FRAME_STACK] = function[FUNCTION_STACK];
    frame[FRAME_RECORD] = 0;
    if (RARELY(!ring))
        return;
    word records = *(volatile word *)&ring[RING_RECORDS]; /* 0 since a debugger wants the ring begun again */
    if (RARELY(!records))
        return;

    word shape = shape_of(function);
    if (RARELY(gdbcuda_recorder_v1[STATE_CALLERS]))
        shape |= HAS_CALLERS;
    word position = add_here(&ring[RING_HEAD], 1), index = position & (records - 1);
    word *record = ring + RING_HEADER + index * FRONT_SIZE;
    record[FRONT_POSITION] = 0;
    COMPILER_KEEPS_ORDER();
    record[FRONT_DONE] = record[FRONT_OUTS] = 0;
    record[FRONT_FUNCTION] = frame[FRAME_FUNCTION] | (shape & (HAS_ARGUMENTS | HAS_OUTS | HAS_CALLERS));
    record[FRONT_BACK] = caller[0];
    record[FRONT_TOP] = (word)(caller + 1);
#pragma GCC unroll 8
    for (word i = 0; i < REGISTERS; i++)
        record[FRONT_REGISTERS + i] = frame[FRAME_REGISTERS + i];
    frame[FRAME_RING] = (word)ring;
    frame[FRAME_RECORD] = (word)record;
    frame[FRAME_POSITION] = position + 1;
    if (RARELY(shape & (HAS_ARGUMENTS | HAS_CALLERS | TELLS)))
        note_more(function, frame, ring, shape, record, rest_of(ring, records, index));
    word ticks = ticks_now();
    record[FRONT_ENTERED] = ticks;
    COMPILER_KEEPS_ORDER();
    record[FRONT_POSITION] = position + 1;
    ring_tell_time(ring, ticks);
}

static __attribute__((noinline)) void note_outs(const word *function, word *ring, const word *front, word *rest,
                                                word *to, word room, word ticks)
{
    note_pointees(function + FUNCTION_OUTS, function[FUNCTION_OUT_COUNT] % (MOST_OUTS + 1), ring, front, rest, to, room,
                  ticks, WRITTEN_FOR);
}

/* Nearly all that functions write is one value, into a local variable of their caller. */
static void note_one_out(const word *function, word *ring, word *front, word ticks)
{
    word wanted = function[FUNCTION_OUTS], size = size_of(wanted), from = front[FRONT_REGISTERS + index_of(wanted)];
    if (RARELY(index_of(wanted) >= REGISTERS || (size != 4 && size != sizeof(word)) ||
               gdbcuda_recorder_v1[STATE_CONFINED] || !was_just_readable(ring, from, size, ticks, WRITTEN_FOR))) {
        note_outs(function, ring, front, front, front + FRONT_OUTS, FRONT_OUT_WORDS, ticks);
        return;
    }
    front[FRONT_OUTS] = size;
    front[FRONT_OUTS + 1] = size == 4 ? (word)*(unsigned *)from : ((anywhere *)from)->value;
}

static __attribute__((noinline)) void note_more_left(const word *function, word *ring, word *front, word *rest, word ticks)
{
    if (front[FRONT_FUNCTION] & HAS_OUTS)
        note_outs(function, ring, front, rest, rest + REST_OUTS, OUT_WORDS, ticks);
    if (function[FUNCTION_AFTER])
        ((void (*)(const word *))function[FUNCTION_AFTER])(front);
}

/* The call may return in another thread than it began in, or in a forked child, where the record is not any more. */
void gdbcuda_left(word *frame)
{
    word *record = (word *)frame[FRAME_RECORD], *ring = (word *)frame[FRAME_RING];
    word *function = function_of(frame);
    if (RARELY(!record || gdbcuda_recorder_v1[STATE_CONFINED] == NO_TICKS))
        return;
    word ticks = ticks_now(), shape = shape_of(function), told = gdbcuda_recorder_v1[STATE_BEHIND];
    if (RARELY(shape & TELLS) && told)
        ((void (*)(word))told)((word)(frame + FRAME_SIZE + 3));
    word records = *(volatile word *)&ring[RING_RECORDS], position = frame[FRAME_POSITION];
    if (RARELY(!records || record[FRONT_POSITION] != position))
        return;
    record[FRONT_LEFT] = ticks;
    record[FRONT_RESULT] = frame[FRAME_RESULT];
    int has_succeeded = !(int)frame[FRAME_RESULT];
    if (shape & HAS_ONE_OUT && has_succeeded)
        note_one_out(function, ring, record, ticks);
    if (RARELY(shape & (HAS_OUTS | IS_FOLLOWED)) && has_succeeded)
        note_more_left(function, ring, record, rest_of(ring, records, (position - 1) & (records - 1)), ticks);
    COMPILER_KEEPS_ORDER();
    record[FRONT_DONE] = position;
}
