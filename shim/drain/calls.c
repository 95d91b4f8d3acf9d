/* The file of a thread's calls: a header as that of its ring, then of each call the words that it has. */
#include "drain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { WAITING_ROOM = 1 << 20, LARGEST = (RECORD_SIZE + 1) * sizeof(word) };

int calls_created(const struct drained *ring)
{
    char name[2 * LONGEST_NAME];
    name_with(name, ring->name, ".calls");
    return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int calls_have_room(const struct drained *ring)
{
    return ring->waiting_size + LARGEST <= WAITING_ROOM;
}

static int is_written(int file, const void *from, word size, word at)
{
    for (word done = 0; done < size;) {
        ssize_t written = pwrite(file, (const char *)from + done, size - done, (off_t)(at + done));
        if (written <= 0 && errno != EINTR)
            return 0;
        done += written > 0 ? (word)written : 0;
    }
    return 1;
}

static int header_is_written(const struct drained *ring)
{
    word header[RING_SIZE];
    memcpy(header, ring->ring, sizeof header);
    header[RING_COPY] = MAGIC;
    header[RING_NO_ROOM] = (word)ring->had_no_room;
    return is_written(ring->calls, header, sizeof header, 0);
}

/* 0 where the disk has no room. It is tried again later; a reader leaves out a call that is cut. */
int calls_write(struct drained *ring)
{
    word end = ring->size ? ring->size : FILE_HEADER;
    int is_kept = is_written(ring->calls, ring->waiting, ring->waiting_size, end);
    ring->had_no_room |= !is_kept;
    if (!header_is_written(ring) || !is_kept)
        return 0;
    ring->size = end + ring->waiting_size;
    ring->waiting_size = 0;
    return 1;
}

static word *appended(word *to, const word *from, word count)
{
    memcpy(to, from, count * sizeof(word));
    return to + count;
}

/* How many words of it a record has, or as many as it may have. */
static word count_of(word function, word begin, word end, word most)
{
    word found = function >> begin & ((1ul << (end - begin)) - 1);
    return found < most ? found : most;
}

/* CALLERS end with a 0 where there are fewer. */
static word callers_in(const word *callers, word room)
{
    word found = 0;
    while (found < room && callers[found])
        found++;
    return found;
}

void calls_add(struct drained *ring, const struct call *call, int has_returned)
{
    word function = call->front[FRONT_FUNCTION], is_in_front = function >> HAS_OUT_BIT & 1;
    word stack = count_of(function, STACK_BIT, FLOATS_BIT, STACK_WORDS);
    word floats = count_of(function, FLOATS_BIT, OUTS_BIT, FLOATS);
    word room = count_of(function, OUTS_BIT, INS_BIT, OUT_WORDS), ins = count_of(function, INS_BIT, CALLERS_BIT, IN_WORDS);
    const word *more_outs = call->more + stack + floats, *callers = more_outs + room + ins;
    word caller_count = callers_in(callers, count_of(function, CALLERS_BIT, HAS_OUT_BIT, MOST_CALLERS));
    const word *outs = is_in_front ? call->front + FRONT_OUTS : more_outs;
    word out_count = has_returned && !(int)call->front[FRONT_RESULT] ? (is_in_front ? FRONT_OUT_WORDS : room) : 0;
    word *begin = (word *)(ring->waiting + ring->waiting_size), *end = appended(begin + 1, call->front, FRONT_OUTS);
    end = appended(end, call->more, stack + floats);
    end = appended(end, outs, out_count);
    end = appended(end, more_outs + room, ins);
    end = appended(end, callers, caller_count);
    begin[0] = CALL_BEGINS | stack | floats << 8 | out_count << 16 | ins << 24 | caller_count << 32;
    begin[1 + FRONT_FUNCTION] = count_of(function, 0, STACK_BIT, MOST_FUNCTIONS);
    if (!has_returned)
        begin[1 + FRONT_DONE] = 0;
    ring->waiting_size += (word)((char *)end - (char *)begin);
}
