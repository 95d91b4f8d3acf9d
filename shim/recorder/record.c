/* What is noted at the entry and at the return of a recorded call. */
#include "ring.h"

#include <sys/syscall.h>
#include <sys/uio.h>

static word *function_of(const word *frame)
{
    return gdbcuda_functions_v1 + frame[FRAME_FUNCTION] * FUNCTION_SIZE;
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
    frame[FRAME_RING] = (word)ring;
    frame[FRAME_RECORD] = (word)record;
    frame[FRAME_POSITION] = position + 1;
    word ticks = ticks_now();
    record[RECORD_ENTERED] = ticks;
    COMPILER_KEEPS_ORDER();
    record[RECORD_POSITION] = position + 1;
    ring_tell_time(ring, ticks);
}

/* As another process would read it: a pointer that leads nowhere is no fault of the program's. */
static word peek(word pid, word *to, word from, word size)
{
    struct iovec here = {to, size}, there = {(void *)from, size};
    long got = system_call(SYS_process_vm_readv, pid, (word)&here, 1, (word)&there, 1, 0);
    return got == (long)size ? size : NOT_READ;
}

static void note_outs(const word *function, const word *ring, word *record)
{
    word at = 0;
    for (word i = 0; i < function[FUNCTION_OUT_COUNT] && i < MOST_OUTS; i++) {
        word index = function[FUNCTION_OUTS + i] & 0xff, size = function[FUNCTION_OUTS + i] >> 8;
        word words = (size + sizeof(word) - 1) / sizeof(word);
        if (index >= REGISTERS + STACK_WORDS || words >= OUT_WORDS - at)
            return;
        word *out = record + RECORD_OUTS + at;
        word from = record[RECORD_REGISTERS + index];
        out[0] = from ? peek(ring[RING_PID], out + 1, from, size) : NOT_READ;
        at += 1 + words;
    }
}

/* The call may return in another thread than it began in, or in a forked child, where the record is not any more. */
void gdbcuda_left(word *frame)
{
    word ticks = ticks_now(), *record = (word *)frame[FRAME_RECORD];
    const word *ring = (const word *)frame[FRAME_RING], *function = function_of(frame);
    if (!record || !ring[RING_RECORDS] || record[RECORD_POSITION] != frame[FRAME_POSITION])
        return;
    record[RECORD_LEFT] = ticks;
    record[RECORD_RESULT] = frame[FRAME_RESULT];
    if (!(int)frame[FRAME_RESULT] && function[FUNCTION_OUT_COUNT])
        note_outs(function, ring, record);
    if (!(int)frame[FRAME_RESULT] && function[FUNCTION_AFTER])
        ((void (*)(const word *))function[FUNCTION_AFTER])(record);
    COMPILER_KEEPS_ORDER();
    record[RECORD_DONE] = frame[FRAME_POSITION];
}
