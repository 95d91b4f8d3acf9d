/* A file for each ring. Where none can be made, the program goes on, and the ring is in memory. */
#include "files.h"

#include <sys/mman.h>
#include <sys/vfs.h>

#define WRITTEN_FIRST 512 /* records */
#define IN_MEMORY 512     /* records: a debugger may still read them */
#define LATER_RECORDS 256 /* so many keeps a thread of the program's thousandth process */
#define FIRST_PARTS 8     /* and as many more as there are rings: of the disk's free space a ring takes one */

static int are_written(word *from, word words)
{
    word begin = (word)from & ~(word)(PAGE - 1), end = (word)(from + words);
    return !FAILED(CALL(madvise, begin, end - begin, MADV_POPULATE_WRITE));
}

/* The pages of its first records are written to before calls are recorded: the first write to each would cost one of them
 * 1.2 us, and a file that is only mapped to be read (MAP_POPULATE) still waits for that. Those of more records wait for
 * their calls, 32 to a page: most threads of a program with many make few. (madvise(2); Linux 5.14) */
static int is_mapped(word *ring, word records, long file)
{
    word at = (word)(ring + RING_HEADER), size = ring_size(records) - FILE_HEADER;
    word protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
    word first = records < WRITTEN_FIRST ? records : WRITTEN_FIRST, *more = (word *)at + records * FRONT_SIZE;
    if (FAILED(CALL(mmap, at, size, protection, flags, file, FILE_HEADER)))
        return 0;
    return (are_written((word *)at, first * FRONT_SIZE) && are_written(more, first * MORE_ROOM)) ||
           !FAILED(CALL(mmap, at, size, protection, flags | MAP_POPULATE, file, FILE_HEADER));
}

/* Bytes that are free where the file is; all there are where the system does not say. */
static word free_space(long file)
{
    struct statfs about;
    return FAILED(CALL(fstatfs, file, &about)) ? ~0ul : (word)about.f_bavail * (word)about.f_bsize;
}

/* How many records the file gets, of so many wanted; 0 where there is no room. The disk is the program's: of what is
 * free there a ring takes a part, and the next one of what is left then. */
static word records_with_room(long file, word wanted)
{
    word parts = FIRST_PARTS + gdbcuda_recorder_v1[STATE_COUNT], most = free_space(file) / parts;
    word records = wanted, fewest = wanted < FEWEST ? wanted : FEWEST;
    while (records > fewest && ring_size(records) > most)
        records >>= 1;
    while (records >= fewest && !trace_has_room(file, ring_size(records)))
        records >>= 1;
    return records < fewest ? 0 : records;
}

static int is_header_mapped(word *ring, long file)
{
    word copy = (word)CALL(mmap, 0, FILE_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ring[RING_COPY] = FAILED(copy) ? 0 : copy;
    return ring[RING_COPY] != 0;
}

static void forget_header(word *ring)
{
    if (ring[RING_COPY])
        CALL(munmap, ring[RING_COPY], FILE_HEADER);
    ring[RING_COPY] = 0;
}

/* How many records are in a file from now on; 0 where none can be made. */
static word records_copied(word *ring, word wanted)
{
    struct file_name name = trace_name(&gdbcuda_trace, gdbcuda_trace.file, ring[RING_LWP]);
    long file = trace_created(&gdbcuda_trace, name.text);
    if (FAILED(file))
        return 0;
    word records = records_with_room(file, wanted);
    if (records && !(is_header_mapped(ring, file) && is_mapped(ring, records, file)))
        records = 0;
    CALL(close, file);
    if (!records) {
        forget_header(ring);
        trace_call(&gdbcuda_trace, SYS_unlink, name.text, 0);
    }
    return records;
}

/* A program may start thousands of processes that make few calls, one after the other: each ring is megabytes. */
static word records_of_process(word wanted)
{
    word fewest = wanted < LATER_RECORDS ? wanted : LATER_RECORDS, records = wanted;
    for (word from = gdbcuda_trace.whole; from && from < gdbcuda_trace.number && records > fewest; from <<= 1)
        records >>= 1;
    return records;
}

/* In a forked child the records are still those of the parent's file, and stay so where the kernel gives no memory. */
static int is_forgotten(word *ring, word size)
{
    const word flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return !FAILED(CALL(mmap, ring + RING_HEADER, size, PROT_READ | PROT_WRITE, flags, -1, 0));
}

word ring_keep(word *ring, word wanted)
{
    word size = ring_size(wanted) - FILE_HEADER, had_file = ring[RING_COPY];
    forget_header(ring);
    if (!gdbcuda_trace.folder[0])
        return !had_file || is_forgotten(ring, size) ? wanted : 0;
    int has_file = trace_process_file(&gdbcuda_trace);
    if (look_what_is_written_first)
        look_what_is_written_first();
    word later = has_file ? records_of_process(wanted) : wanted;
    if (later < wanted)
        ring[RING_WANTED] = later;
    word records = has_file ? records_copied(ring, later) : 0;
    if (records) {
        ((word *)ring[RING_COPY])[RING_BEFORE] = ring[RING_BEFORE];
        ((word *)ring[RING_COPY])[RING_WANTED] = ring[RING_WANTED];
        COMPILER_KEEPS_ORDER();
        ((word *)ring[RING_COPY])[RING_RECORDS] = records; /* from now on others read it */
        ring_told_time(ring);
        return records;
    }
    if (!is_forgotten(ring, size))
        return 0;
    trace_without_file(&gdbcuda_trace, ring[RING_LWP]);
    return wanted < IN_MEMORY ? wanted : IN_MEMORY;
}

void ring_failed(void)
{
    if (gdbcuda_trace.folder[0]) {
        trace_process_file(&gdbcuda_trace);
        trace_without_file(&gdbcuda_trace, (word)CALL(gettid, 0));
    }
}

/* Before, the thread has an entry that says so. */
void ring_missed(void)
{
    const struct trace *trace = &gdbcuda_trace;
    if (trace->confined && trace->mapped && *trace->ours)
        __atomic_fetch_add(trace->mapped - RING_HEADER + PROCESS_MISSED, 1, __ATOMIC_RELAXED);
}

void ring_told_time(word *ring)
{
    word *copy = (word *)ring[RING_COPY];
    if (!copy)
        return;
    copy[RING_LATER_NS] = 0;
    for (word part = RING_HEAD; part < RING_LATER_NS; part++)
        copy[part] = ring[part];
    COMPILER_KEEPS_ORDER();
    copy[RING_LATER_NS] = ring[RING_LATER_NS];
}
