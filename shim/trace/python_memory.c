/* Memory that Python's structs lie in. What a thread's own frames lead to is there while the thread is here. What those
 * of another lead to may go at any time: of that the kernel makes a copy, and where it is gone the call fails. */
#include "python.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#define PAGES_BITS 12     /* of a table of pages that could be read lately */
#define AGE 20            /* ticks are counted in units of so many bits, */
#define LASTS 64ul        /* and so many units a page is taken to be there */
#define USER (1ul << 47)
#define MOST_TABLE (1ul << 20)
#define MOST_NAME 1024ul
#define INSTRUCTION 2 /* bytes */

static word pages[1 << PAGES_BITS];

static int is_copied(const word *ring, word from, word size, void *copy)
{
    struct iovec here = {copy, size}, there = {(void *)from, size};
    return !gdbcuda_recorder_v1[STATE_CONFINED] &&
           system_call(SYS_process_vm_readv, ring[RING_PID], (word)&here, 1, (word)&there, 1, 0) == (long)size;
}

/* How long ago that entry was written, if it is of the page; NONE for another page's. */
static word age_of(word entry, word page, word now)
{
    return entry >> 28 == page ? (now - entry) & 0xfffffff : NONE;
}

/* Each page has two places in the table, so that two that are asked for in turns do not drive each other out. */
static int is_page_there(const word *ring, word page, word ticks)
{
    word now = ticks >> AGE & 0xfffffff, *two = &pages[(page * GOLDEN >> (64 - PAGES_BITS)) & ~1ul];
    word first = __atomic_load_n(two, __ATOMIC_RELAXED), second = __atomic_load_n(two + 1, __ATOMIC_RELAXED);
    if (age_of(first, page, now) < LASTS || age_of(second, page, now) < LASTS)
        return 1;
    char byte;
    if (!is_copied(ring, page * PAGE, 1, &byte))
        return 0;
    int is_second_older = ((now - first) & 0xfffffff) < ((now - second) & 0xfffffff);
    __atomic_store_n(two + (first >> 28 != page && is_second_older), page << 28 | now, __ATOMIC_RELAXED);
    return 1;
}

static int is_there(struct python_reader *reader, word from, word size, word *near)
{
    word page = from / PAGE, last = (from + size - 1) / PAGE;
    if (page == *near && last == page)
        return 1;
    int found = from >= PAGE && last < USER / PAGE && is_page_there(reader->ring, page, reader->ticks) &&
                (last == page || is_page_there(reader->ring, last, reader->ticks));
    *near = found ? page : NONE;
    return found;
}

const char *python_bytes(struct python_reader *reader, word from, word size, struct python_part *part)
{
    if (reader->is_own)
        return is_there(reader, from, size, &part->near) ? (const char *)from : 0;
    return size <= sizeof part->copy && is_copied(reader->ring, from, size, part->copy) ? part->copy : 0;
}

const char *python_seen(struct python_reader *reader, word from, word size, struct python_part *part)
{
    return from % sizeof(word) ? 0 : python_bytes(reader, from, size, part);
}

word python_word(struct python_reader *reader, word from)
{
    struct python_part part;
    part.near = NONE;
    const char *seen = python_seen(reader, from, sizeof(word), &part);
    return seen ? word_at(seen, 0) : 0;
}

/* Where the bytecode that the frame runs begins: in the code object, or in this thread's copy of it. 0: not known. */
static word start_of(struct python_reader *reader, const char *frame, word code)
{
    const word *python = reader->python;
    unsigned which = python[PYTHON_COPY] == NONE ? 0 : (unsigned)word_at(frame, python[PYTHON_COPY]);
    if (!which)
        return code + python[PYTHON_CODE_START];
    word copies = python_word(reader, code + python[PYTHON_COPIES]);
    return which < python_word(reader, copies) ? python_word(reader, copies + (1 + which) * sizeof(word)) : 0;
}

word python_position(struct python_reader *reader, const char *frame, word code)
{
    const word *python = reader->python;
    word at = word_at(frame, python[PYTHON_POSITION] & ~7ul);
    long found = (int)(python[PYTHON_POSITION] & 4 ? at >> 32 : at);
    if (python[PYTHON_CODE_START] != NONE) {
        word start = start_of(reader, frame, code);
        found = start ? (long)(at - start) : NOWHERE_KNOWN;
    }
    if (found < 0 && found >= -INSTRUCTION) /* a frame that has not begun */
        return 0;
    return found < 0 || found > NOWHERE_KNOWN ? NOWHERE_KNOWN : (word)found;
}

struct iovec python_text(struct python_reader *reader, word object, word *kind)
{
    const word *python = reader->python;
    struct iovec none = {0, 0};
    struct python_part part;
    part.near = NONE;
    *kind = 1;
    const char *seen = python_seen(reader, object, python[PYTHON_TEXT_COMPACT], &part);
    if (!seen)
        return none;
    word size = word_at(seen, python[PYTHON_TEXT_LENGTH]);
    word state = (unsigned)word_at(seen, python[PYTHON_TEXT_STATE]) >> python[PYTHON_STATE_SHIFT];
    word is_ascii = state >> 4 & 1, start = object + python[is_ascii ? PYTHON_TEXT_ASCII : PYTHON_TEXT_COMPACT];
    if (!(state & 7) || (state & 7) == 3 || (state & 7) > 4 || !(state >> 3 & 1) || size > MOST_NAME)
        return none;
    *kind = state & 7;
    return (struct iovec){(void *)start, size * (state & 7)};
}

struct iovec python_table(struct python_reader *reader, word object)
{
    const word *python = reader->python;
    struct iovec none = {0, 0};
    struct python_part part;
    part.near = NONE;
    const char *seen = python_seen(reader, object, python[PYTHON_BYTES_DATA], &part);
    if (!seen || word_at(seen, python[PYTHON_BYTES_SIZE]) > MOST_TABLE)
        return none;
    return (struct iovec){(void *)(object + python[PYTHON_BYTES_DATA]), word_at(seen, python[PYTHON_BYTES_SIZE])};
}
