/* What is noted at the entry and at the return of a recorded call. */
#include "ring.h"

#include <sys/syscall.h>
#include <sys/uio.h>

static word *function_of(const word *frame)
{
    return gdbcuda_functions_v1 + frame[FRAME_FUNCTION] * FUNCTION_SIZE;
}

#define PAGE 4096ul

/* As another process would read it: a pointer that leads nowhere is no fault of the program's. Of a text what is there. */
static word peek(word pid, word *to, word from, word size, word is_text)
{
    if (!from || gdbcuda_recorder_v1[STATE_CONFINED])
        return NOT_READ;
    word near = PAGE - from % PAGE, first = near < size ? near : size;
    struct iovec here = {to, size}, there[] = {{(void *)from, first}, {(void *)(from + first), size - first}};
    long got = system_call(SYS_process_vm_readv, pid, (word)&here, 1, (word)there, 1 + (first < size), 0);
    return got == (long)size || (is_text && got > 0) ? (word)got : NOT_READ;
}

/* Each its size, then its bytes; `wanted` are words as FUNCTION_OUTS and FUNCTION_INS have them. */
static void note_pointees(const word *wanted, word count, const word *ring, const word *arguments, word *to, word room)
{
    word at = 0;
    for (word i = 0; i < count; i++) {
        word index = wanted[i] & 0xff, size = wanted[i] >> 8 & 0xffffff;
        word words = (size + sizeof(word) - 1) / sizeof(word);
        if (index >= REGISTERS + STACK_WORDS || words >= room - at)
            return;
        to[at] = peek(ring[RING_PID], to + at + 1, arguments[index], size, wanted[i] & IS_TEXT);
        at += 1 + words;
    }
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

    word position = add_here(&ring[RING_HEAD], 1);
    word *record = ring + RING_HEADER + (position & (ring[RING_RECORDS] - 1)) * RECORD_SIZE;
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
        note_pointees(function + FUNCTION_INS, function[FUNCTION_IN_COUNT] % (MOST_INS + 1), ring, record + RECORD_REGISTERS,
                      record + RECORD_INS, IN_WORDS);
    frame[FRAME_RING] = (word)ring;
    frame[FRAME_RECORD] = (word)record;
    frame[FRAME_POSITION] = position + 1;
    word ticks = ticks_now();
    record[RECORD_ENTERED] = ticks;
    COMPILER_KEEPS_ORDER();
    record[RECORD_POSITION] = position + 1;
    ring_tell_time(ring, ticks);
}

/* The call may return in another thread than it began in, or in a forked child, where the record is not any more. */
void gdbcuda_left(word *frame)
{
    word *record = (word *)frame[FRAME_RECORD];
    if (!record || record[RECORD_POSITION] != frame[FRAME_POSITION] || gdbcuda_recorder_v1[STATE_CONFINED] == NO_TICKS)
        return;
    word ticks = ticks_now();
    const word *function = function_of(frame);
    record[RECORD_LEFT] = ticks;
    record[RECORD_RESULT] = frame[FRAME_RESULT];
    if (!(int)frame[FRAME_RESULT] && function[FUNCTION_OUT_COUNT])
        note_pointees(function + FUNCTION_OUTS, function[FUNCTION_OUT_COUNT] % (MOST_OUTS + 1),
                      (word *)frame[FRAME_RING], record + RECORD_REGISTERS, record + RECORD_OUTS, OUT_WORDS);
    COMPILER_KEEPS_ORDER();
    record[RECORD_DONE] = frame[FRAME_POSITION];
}
