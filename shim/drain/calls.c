/* The file of a thread's calls: a header as that of its ring, then of each call the words that it has. */
#include "drain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { WAITING_ROOM = 1 << 20, HEADER = RING_HEADER * sizeof(word), LARGEST = (RECORD_SIZE + 1) * sizeof(word) };

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

/* 0 where the disk has no room. It is tried again later; a reader leaves out a call that is cut. */
int calls_write(struct drained *ring)
{
    word header[RING_SIZE], end = ring->size ? ring->size : HEADER;
    memcpy(header, ring->ring, sizeof header);
    header[RING_COPY] = MAGIC;
    if (!is_written(ring->calls, ring->waiting, ring->waiting_size, end) ||
        !is_written(ring->calls, header, sizeof header, 0))
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

void calls_add(struct drained *ring, const word *record, int has_returned)
{
    struct shape shape = shape_of(ring->process, record[RECORD_FUNCTION]);
    word outs = has_returned && !(int)record[RECORD_RESULT] ? shape.outs : 0, callers = 0;
    while (callers < MOST_CALLERS && record[RECORD_CALLERS + callers])
        callers++;
    word *call = (word *)(ring->waiting + ring->waiting_size), *end = appended(call + 1, record, RECORD_STACK);
    end = appended(end, record + RECORD_STACK, shape.stack);
    end = appended(end, record + RECORD_FLOATS, shape.floats);
    end = appended(end, record + RECORD_OUTS, outs);
    end = appended(end, record + RECORD_INS, shape.ins);
    end = appended(end, record + RECORD_CALLERS, callers);
    call[0] = CALL_BEGINS | shape.stack | (word)shape.floats << 8 | outs << 16 | (word)shape.ins << 24 | callers << 32;
    if (!has_returned)
        call[1 + RECORD_DONE] = 0;
    ring->waiting_size += (word)((char *)end - (char *)call);
}
