/* What is noted at the entry and at the return of a recorded call. */
#include "ring.h"
#include "shape.h"

#include <sys/syscall.h>
#include <sys/uio.h>

_Static_assert(FRONT_SIZE * sizeof(word) == 1 << FRONT_SIZE_BITS && MORE_ROOM == 1 << MORE_ROOM_BITS, "as through.S has them");
_Static_assert(MOST_FUNCTIONS == 1 << STACK_BIT && MOST_RECORDS * MORE_ROOM <= 1ul << (64 - PLACE_BIT), "a word has them");
_Static_assert(FRAME_SIZE % 2 && FRAME_SLOT % 2 && MORE_ROOM * sizeof(word) == 4 << FRONT_SIZE_BITS, "the stack is aligned where through.S calls");

/* What a record has beside its front: where it is, and how many words of what. Somebody may have written into its file:
 * whatever is in it, nothing leads out of the ring. */
struct more {
    const word *back; /* where the call's return address is */
    word *stack, *outs, *ins, *callers;
    word stack_count, outs_room, ins_room, callers_room;
};

static word bits(word from, word begin, word end)
{
    return from >> begin & ((1ul << (end - begin)) - 1);
}

/* Behind rax and rbp. */
static const word *back_of(const word *frame)
{
    return frame + FRAME_SIZE + 2;
}

static struct more more_of(const word *frame, word *ring, word records, word recorded)
{
    struct more found = {.back = back_of(frame),
                         .stack_count = bits(recorded, STACK_BIT, FLOATS_BIT),
                         .outs_room = bits(recorded, OUTS_BIT, INS_BIT),
                         .ins_room = bits(recorded, INS_BIT, CALLERS_BIT),
                         .callers_room = bits(recorded, CALLERS_BIT, HAS_OUT_BIT)};
    found.stack = ring + RING_HEADER + records * FRONT_SIZE + (recorded >> PLACE_BIT & (records * MORE_ROOM - 1));
    found.outs = found.stack + found.stack_count + bits(recorded, FLOATS_BIT, OUTS_BIT);
    found.ins = found.outs + found.outs_room;
    found.callers = found.ins + found.ins_room;
    return found;
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
    return (word *)frame[FRAME_WORDS];
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

/* The page of the return address is there. */
static int is_readable(word *ring, word from, word size, const word *back, word ticks, word lasts)
{
    word page = from / PAGE;
    const word *seen = where_seen(ring, page);
    return (from + size - 1) / PAGE == page &&
           (page == (word)back / PAGE || (seen[0] == page && ticks - seen[1] < lasts));
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

static word peek(word *ring, word *to, word from, word size, word is_text, const word *back, word ticks, word lasts)
{
    if (gdbcuda_recorder_v1[STATE_CONFINED])
        return 0; /* nobody looks */
    if (!from)
        return NOT_READ;
    if (!is_readable(ring, from, size, back, ticks, lasts))
        return ask_kernel(ring, to, from, size, is_text, ticks);
    copy(to, from, size);
    return size;
}

/* Each its size, then its bytes; `wanted` are words as FUNCTION_OUTS and FUNCTION_INS have them. */
static void note_pointees(const word *wanted, word count, word *ring, const word *front, const struct more *more, word *to,
                          word room, word ticks, word lasts)
{
    word at = 0;
    for (word i = 0; i < count; i++) {
        word index = index_of(wanted[i]), size = size_of(wanted[i]);
        word words = (size + sizeof(word) - 1) / sizeof(word);
        if (index >= REGISTERS + more->stack_count || words >= room - at)
            return;
        word from = index < REGISTERS ? front[FRONT_REGISTERS + index] : more->stack[index - REGISTERS];
        to[at] = peek(ring, to + at + 1, from, size, wanted[i] & IS_TEXT, more->back, ticks, lasts);
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
static word plain_shape(const word *function, word found)
{
    int has_plain = has_plain_out(function);
    int asks_more = function[FUNCTION_FLOATS] | function[FUNCTION_IN_COUNT] || function[FUNCTION_STACK] > PLAIN_STACK;
    word plain = asks_more || found & HAS_CALLERS ? 0 : IS_PLAIN;
    word more = found & (HAS_OUTS | IS_FOLLOWED) || (found & HAS_ONE_OUT && !has_plain) ? HAS_MORE_LEFT : 0;
    word in_front = plain && !(function[FUNCTION_STACK] | (found & HAS_OUTS)) ? IS_IN_FRONT : 0;
    return plain | in_front | more | (has_plain ? HAS_PLAIN_OUT : 0);
}

static word least(word a, word b)
{
    return a < b ? a : b;
}

static word room_of(const word *wanted, word count, word most)
{
    word found = 0;
    for (word i = 0; i < count && i < MOST_OUTS; i++)
        found += 1 + (size_of(wanted[i]) + sizeof(word) - 1) / sizeof(word);
    return least(found, most);
}

static void find_room(word *function, word shape)
{
    word stack = least(function[FUNCTION_STACK], STACK_WORDS), floats = least(function[FUNCTION_FLOATS], FLOATS);
    word outs = shape & HAS_OUTS ? room_of(function + FUNCTION_OUTS, function[FUNCTION_OUT_COUNT], OUT_WORDS) : 0;
    word ins = room_of(function + FUNCTION_INS, least(function[FUNCTION_IN_COUNT], MOST_INS), IN_WORDS);
    word number = (word)(function - gdbcuda_functions_v1) / FUNCTION_SIZE;
    function[FUNCTION_RECORDED] = number | stack << STACK_BIT | floats << FLOATS_BIT | outs << OUTS_BIT |
                                  ins << INS_BIT | (word)(shape & HAS_ONE_OUT ? 1 : 0) << HAS_OUT_BIT;
    word room = stack + floats + outs + ins;
    function[FUNCTION_ROOM] = room && room < PLAIN_STACK ? PLAIN_STACK : room; /* which through.S fills */
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
    return found | plain_shape(function, found);
}

static inline word shape_of(word *function)
{
    if (RARELY(!function[FUNCTION_SHAPE])) {
        word found = shape_found(function);
        find_room(function, found);
        COMPILER_KEEPS_ORDER();
        function[FUNCTION_SHAPE] = found;
    }
    return function[FUNCTION_SHAPE];
}

/* By the frame pointers of those who keep them. Where one leads nowhere, or not up the stack, nobody is further up. */
static void note_callers(word *ring, word *callers, word count, word room, const word *caller, word ticks)
{
    word frame = caller[-1], below = (word)caller, pair[2], most = least(gdbcuda_recorder_v1[STATE_CALLERS] + count, room);
    while (count < most && frame > below && !(frame % sizeof(word)) &&
           peek(ring, pair, frame, sizeof pair, 0, caller, ticks, SEEN_FOR) == sizeof pair && pair[1]) {
        callers[count++] = pair[1];
        below = frame;
        frame = pair[0];
    }
    if (count < room)
        callers[count] = 0;
}

static void note_arguments(const word *function, const word *frame, word *ring, const word *front, const struct more *more)
{
    const word *caller = back_of(frame);
    word *floats = more->stack + more->stack_count;
    for (word i = 0; i < more->stack_count; i++)
        more->stack[i] = caller[1 + i];
    for (word i = 0; floats + i < more->outs; i++)
        floats[i] = frame[FRAME_FLOATS + i];
    if (function[FUNCTION_IN_COUNT])
        note_pointees(function + FUNCTION_INS, least(function[FUNCTION_IN_COUNT], MOST_INS), ring, front, more, more->ins,
                      more->ins_room, ticks_now(), SEEN_FOR);
}

static __attribute__((noinline)) void note_more(const word *function, const word *frame, word *ring, word parts,
                                                word *front, const struct more *more)
{
    const word *caller = back_of(frame);
    if (parts & HAS_ARGUMENTS)
        note_arguments(function, frame, ring, front, more);
    if (parts & HAS_CALLERS) {
        word ticks = ticks_now(), *callers = more->callers;
        callers[0] = parts & WANTS_PYTHON && python_stack ? python_stack(ring, ticks) : 0;
        note_callers(ring, callers, callers[0] != 0, more->callers_room, caller, ticks);
    }
    word told = gdbcuda_recorder_v1[STATE_AROUND];
    if (parts & TELLS && told) /* it makes work for a GPU */
        ((void (*)(word, word, word))told)(ring[RING_LWP], frame[FRAME_POSITION], (word)(caller + 1));
}

/* FUNCTION of the record, with room for what it has beside its front. */
static word with_room(const word *function, word *ring, word records, word shape)
{
    word recorded = function[FUNCTION_RECORDED], room = function[FUNCTION_ROOM], callers = 0;
    if (RARELY(shape & HAS_CALLERS))
        callers = least(gdbcuda_recorder_v1[STATE_CALLERS] + (shape & WANTS_PYTHON ? 1 : 0), MOST_CALLERS);
    if (room + callers)
        recorded |= callers << CALLERS_BIT |
                    (add_here(&ring[RING_MORE], room + callers) & (records * MORE_ROOM - 1)) << PLACE_BIT;
    return recorded;
}

/* So through.S has nothing to note when such a call returns. */
static const word no_ring[RING_SIZE];

void gdbcuda_entered(word *frame)
{
    word *function = function_of(frame);
    const word *caller = back_of(frame);
    word *ring = ring_here();
    frame[FRAME_RING] = (word)no_ring;
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
    record[FRONT_FUNCTION] = with_room(function, ring, records, shape);
    record[FRONT_BACK] = caller[0];
    record[FRONT_TOP] = (word)(caller + 1);
#pragma GCC unroll 8
    for (word i = 0; i < REGISTERS; i++)
        record[FRONT_REGISTERS + i] = frame[FRAME_REGISTERS + i];
    frame[FRAME_RING] = (word)ring;
    frame[FRAME_RECORD] = (word)record;
    frame[FRAME_POSITION] = position + 1;
    if (RARELY(shape & (HAS_ARGUMENTS | HAS_CALLERS | TELLS))) {
        struct more more = more_of(frame, ring, records, record[FRONT_FUNCTION]);
        note_more(function, frame, ring, shape, record, &more);
    }
    word ticks = ticks_now();
    record[FRONT_ENTERED] = ticks;
    COMPILER_KEEPS_ORDER();
    record[FRONT_POSITION] = position + 1;
    ring_tell_time(ring, ticks);
}

static __attribute__((noinline)) void note_outs(const word *function, word *ring, const word *front,
                                                const struct more *more, word *to, word room, word ticks)
{
    note_pointees(function + FUNCTION_OUTS, function[FUNCTION_OUT_COUNT] % (MOST_OUTS + 1), ring, front, more, to, room,
                  ticks, WRITTEN_FOR);
}

/* Nearly all that functions write is one value, into a local variable of their caller. */
static void note_one_out(const word *function, const word *frame, word *ring, word records, word *front, word ticks)
{
    word wanted = function[FUNCTION_OUTS], size = size_of(wanted), from = front[FRONT_REGISTERS + index_of(wanted)];
    if (RARELY(index_of(wanted) >= REGISTERS || (size != 4 && size != sizeof(word)) ||
               gdbcuda_recorder_v1[STATE_CONFINED] ||
               !is_readable(ring, from, size, back_of(frame), ticks, WRITTEN_FOR))) {
        struct more more = more_of(frame, ring, records, front[FRONT_FUNCTION]);
        note_outs(function, ring, front, &more, front + FRONT_OUTS, FRONT_OUT_WORDS, ticks);
        return;
    }
    front[FRONT_OUTS] = size;
    front[FRONT_OUTS + 1] = size == 4 ? (word)*(unsigned *)from : ((anywhere *)from)->value;
}

static void follow(const word *function, const word *front, word is_noted)
{
    ((void (*)(const word *, word))function[FUNCTION_AFTER])(front, is_noted);
}

static __attribute__((noinline)) void note_more_left(const word *function, const word *frame, word *ring, word records,
                                                     word *front, word shape, word ticks)
{
    if (shape & HAS_OUTS) {
        struct more more = more_of(frame, ring, records, front[FRONT_FUNCTION]);
        note_outs(function, ring, front, &more, more.outs, more.outs_room, ticks);
    }
    if (function[FUNCTION_AFTER])
        follow(function, front, 1);
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
    record[FRONT_OUTS] = 0;
    int has_succeeded = !(int)frame[FRAME_RESULT];
    if (RARELY(shape & IS_FOLLOWED) && has_succeeded)
        follow(function, record, 0);
    if (shape & HAS_ONE_OUT && has_succeeded)
        note_one_out(function, frame, ring, records, record, ticks);
    if (RARELY(shape & (HAS_OUTS | IS_FOLLOWED)) && has_succeeded)
        note_more_left(function, frame, ring, records, record, shape, ticks);
    COMPILER_KEEPS_ORDER();
    record[FRONT_DONE] = position;
}
