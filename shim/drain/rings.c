/* The ring of a thread that goes on writing while it is read. */
#include "drain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEFT_OUT 8 /* this part of a ring is left out by one that is late, so as not to be late again at once */

static const word *mapped(const char *file_name, word *records)
{
    struct stat about;
    int file = openat(folder, file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const word *found = 0;
    if (file >= 0 && !fstat(file, &about) && S_ISREG(about.st_mode) && about.st_size > FILE_HEADER) {
        void *map = mmap(0, (size_t)about.st_size, PROT_READ, MAP_SHARED, file, 0);
        found = map == MAP_FAILED ? 0 : map;
    }
    *records = found ? found[RING_RECORDS] : 0;
    if (file >= 0)
        close(file);
    int is_sound = *records && *records <= MOST_RECORDS && !(*records & (*records - 1)) &&
                   (word)about.st_size >= ring_size(*records);
    if (found && !is_sound)
        munmap((void *)found, (size_t)about.st_size);
    return is_sound ? found : 0;
}

struct drained *ring_opened(const char *file_name)
{
    word records;
    const word *found = mapped(file_name, &records);
    struct drained *ring = found ? calloc(1, sizeof *ring) : 0;
    char *waiting = ring ? malloc(1 << 20) : 0;
    if (!waiting)
        return 0;
    *ring = (struct drained){.ring = found, .records = records, .waiting = waiting,
                             .next = found[RING_BEFORE] + 1, .pid = (pid_t)strtol(file_name, 0, 10)};
    memcpy(ring->name, file_name, (size_t)(strrchr(file_name, '.') - file_name));
    ring->calls = calls_created(ring);
    return ring;
}

static word index_of(const struct drained *ring, word position)
{
    return (position - 1) & (ring->records - 1);
}

static const word *place(const struct drained *ring, word position)
{
    return ring->ring + RING_HEADER + index_of(ring, position) * FRONT_SIZE;
}

static const word *more_of(const struct drained *ring, word function)
{
    word at = function >> PLACE_BIT & (ring->records * MORE_ROOM - 1);
    return ring->ring + RING_HEADER + ring->records * FRONT_SIZE + at;
}

static word seen(const word *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* 0 where another call has taken its place. A call that returns while it is copied has returned, or not. */
static int copied(const struct drained *ring, word position, struct call *to)
{
    const word *from = place(ring, position);
    word before = seen(from + FRONT_POSITION), done = seen(from + FRONT_DONE);
    memcpy(to->front, from, sizeof to->front);
    word function = to->front[FRONT_FUNCTION];
    if (function >> STACK_BIT & ((1ul << (HAS_OUT_BIT - STACK_BIT)) - 1))
        memcpy(to->more, more_of(ring, function), sizeof to->more);
    to->front[FRONT_DONE] = done;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return before == position && seen(from + FRONT_POSITION) == position;
}

static int has_returned(const struct call *call)
{
    return call->front[FRONT_DONE] == call->front[FRONT_POSITION];
}

/* The calls that were open: those that have returned, and those whose place is taken or whose process has ended. */
static void look_again(struct drained *ring, int is_over)
{
    word kept = 0;
    struct call call;
    for (word i = 0; i < ring->open_count; i++) {
        int is_there = copied(ring, ring->open[i].front[FRONT_POSITION], &call), is_done = is_there && has_returned(&call);
        if (calls_have_room(ring) && (is_done || !is_there || is_over))
            calls_add(ring, is_there ? &call : &ring->open[i], is_done);
        else
            memmove(&ring->open[kept++], &ring->open[i], sizeof call);
    }
    ring->open_count = kept;
}

static void take(struct drained *ring, const struct call *call)
{
    if (has_returned(call) || ring->open_count == MOST_OPEN)
        calls_add(ring, call, has_returned(call));
    else
        ring->open[ring->open_count++] = *call;
}

/* Of what was left out last what is still there. */
static void take_skipped(struct drained *ring)
{
    struct call call;
    word first = ring->skipped_to - ring->records / LEFT_OUT;
    for (word position = first; position < ring->skipped_to; position++)
        if (copied(ring, position, &call) && (calls_have_room(ring) || calls_write(ring)))
            take(ring, &call);
    ring->skipped_to = 0;
}

static word step(struct drained *ring)
{
    struct call call;
    word there = seen(place(ring, ring->next) + FRONT_POSITION);
    if (there < ring->next)
        return 0;
    if (there == ring->next && copied(ring, there, &call)) {
        take(ring, &call);
        return ring->next++;
    }
    there = seen(place(ring, ring->next) + FRONT_POSITION);
    if (there <= ring->next)
        return 0; /* it is being written */
    word oldest = there - ring->records + 1;
    ring->skipped_to = oldest + ring->records / LEFT_OUT;
    return ring->next = ring->skipped_to;
}

int drain(struct drained *ring)
{
    word begin = ring->next, most = 2 * ring->records;
    look_again(ring, 0);
    for (word i = 0; i < most && (calls_have_room(ring) || calls_write(ring)) && step(ring); i++)
        ;
    if (ring->waiting_size)
        calls_write(ring);
    return ring->next != begin;
}

/* Where all is kept the ring is not needed any more. */
void drain_last(struct drained *ring)
{
    char name[2 * LONGEST_NAME];
    while (drain(ring))
        ;
    if (ring->skipped_to)
        take_skipped(ring);
    look_again(ring, 1);
    if (calls_write(ring) && !ring->open_count && seen(place(ring, ring->next) + FRONT_POSITION) < ring->next) {
        name_with(name, ring->name, ".ring");
        unlinkat(folder, name, 0);
    }
    munmap((void *)ring->ring, ring_size(ring->records));
    close(ring->calls);
    free(ring->waiting);
    ring->is_over = 1;
}
