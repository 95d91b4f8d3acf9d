/* The ring of a thread that goes on writing while it is read. */
#include "drain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEFT_OUT 8 /* this part of a ring is left out by one that is late, so as not to be late again at once */

enum { HEADER = RING_HEADER * sizeof(word) };

static const word *mapped(const char *file_name, word *records)
{
    struct stat about;
    int file = openat(folder, file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const word *found = 0;
    if (file >= 0 && !fstat(file, &about) && S_ISREG(about.st_mode) && about.st_size > HEADER) {
        void *map = mmap(0, (size_t)about.st_size, PROT_READ, MAP_SHARED, file, 0);
        found = map == MAP_FAILED ? 0 : map;
    }
    *records = found ? found[RING_RECORDS] : 0;
    if (file >= 0)
        close(file);
    int is_sound = *records && *records <= MOST_RECORDS && !(*records & (*records - 1)) &&
                   (word)about.st_size >= HEADER + *records * RING_RECORD * sizeof(word);
    if (found && !is_sound)
        munmap((void *)found, (size_t)about.st_size);
    return is_sound ? found : 0;
}

struct drained *ring_opened(const char *file_name, struct traced_process *process)
{
    word records;
    const word *found = mapped(file_name, &records);
    struct drained *ring = found ? calloc(1, sizeof *ring) : 0;
    char *waiting = ring ? malloc(1 << 20) : 0;
    if (!waiting)
        return 0;
    *ring = (struct drained){.process = process, .ring = found, .records = records, .waiting = waiting,
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

static const word *rest_of(const struct drained *ring, word position)
{
    return ring->ring + RING_HEADER + ring->records * FRONT_SIZE + index_of(ring, position) * REST_SIZE;
}

static word seen(const word *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* 0 where another call has taken its place. A call that returns while it is copied has returned, or not. */
static int copied(const struct drained *ring, word position, word *to)
{
    const word *from = place(ring, position);
    word before = seen(from + FRONT_POSITION), done = seen(from + FRONT_DONE);
    word parts = from[FRONT_FUNCTION];
    memcpy(to, from, FRONT_OUTS * sizeof(word));
    if (parts & (HAS_ARGUMENTS | HAS_OUTS | HAS_CALLERS))
        memcpy(to + RECORD_STACK, rest_of(ring, position), REST_SIZE * sizeof(word));
    if (!(parts & HAS_OUTS))
        memcpy(to + RECORD_OUTS, from + FRONT_OUTS, FRONT_OUT_WORDS * sizeof(word));
    if (!(parts & HAS_CALLERS))
        to[RECORD_CALLERS] = 0;
    to[RECORD_FUNCTION] = (unsigned)parts;
    to[RECORD_DONE] = done;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return before == position && seen(from + FRONT_POSITION) == position;
}

/* The calls that were open: those that have returned, and those whose place is taken or whose process has ended. */
static void look_again(struct drained *ring, int is_over)
{
    word kept = 0, record[RECORD_SIZE];
    for (word i = 0; i < ring->open_count; i++) {
        word position = ring->open[i][RECORD_POSITION];
        int is_there = copied(ring, position, record), has_returned = is_there && record[RECORD_DONE] == position;
        if (calls_have_room(ring) && (has_returned || !is_there || is_over))
            calls_add(ring, is_there ? record : ring->open[i], has_returned);
        else
            memmove(ring->open[kept++], ring->open[i], sizeof record);
    }
    ring->open_count = kept;
}

static void take(struct drained *ring, const word *record)
{
    int has_returned = record[RECORD_DONE] == record[RECORD_POSITION];
    if (has_returned || ring->open_count == MOST_OPEN)
        calls_add(ring, record, has_returned);
    else
        memcpy(ring->open[ring->open_count++], record, RECORD_SIZE * sizeof(word));
}

/* Of what was left out last what is still there. */
static void take_skipped(struct drained *ring)
{
    word record[RECORD_SIZE], first = ring->skipped_to - ring->records / LEFT_OUT;
    for (word position = first; position < ring->skipped_to; position++)
        if (copied(ring, position, record) && (calls_have_room(ring) || calls_write(ring)))
            take(ring, record);
    ring->skipped_to = 0;
}

static word step(struct drained *ring)
{
    word record[RECORD_SIZE], there = seen(place(ring, ring->next) + FRONT_POSITION);
    if (there < ring->next)
        return 0;
    if (there == ring->next && copied(ring, there, record)) {
        take(ring, record);
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
    munmap((void *)ring->ring, HEADER + ring->records * RING_RECORD * sizeof(word));
    close(ring->calls);
    free(ring->waiting);
    ring->is_over = 1;
}
