/* What outlives the process: a file that says which function and which object is which. It is made where the first
 * function is recorded. Where it cannot be made, the program goes on. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define LONGEST 3000000000ul /* three seconds: the maker may be held by a debugger */
#define MOST_WAITS 3000      /* of a millisecond or more: the clock may be kept from the program */
#define MOST_FILES 10000 /* of one process number */

struct trace gdbcuda_trace;
extern struct trace gdbcuda_trace_v1 __attribute__((alias("gdbcuda_trace"), visibility("protected")));

#define IS_AT(name, part) _Static_assert(__builtin_offsetof(struct trace, name) == TRACE_##part * sizeof(word), #name)
IS_AT(folder, FOLDER);
IS_AT(places, PLACES);
IS_AT(slots, SLOTS);
IS_AT(entries, ENTRIES);

static char *append_number(char *to, word number)
{
    char digits[24] = "", *at = digits + sizeof digits - 1;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    return append(to, at);
}

struct file_name trace_name(const struct trace *trace, word file, word thread)
{
    struct file_name name;
    char *at = append_number(append(append_number(name.text, trace->making), "-"), file);
    if (thread)
        at = append_number(append(at, "-"), thread);
    append(at, thread ? ".ring" : ".process");
    return name;
}

/* The path is not on the stack: of that a signal handler or a coroutine may have some KB, and there their first calls may
 * be. */
long trace_call(const struct trace *trace, word number, const char *name, word flags)
{
    const word size = 2 * sizeof trace->folder;
    char *path = (char *)CALL(mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (FAILED((word)path))
        return -ENOMEM;
    append(append(append(path, trace->folder), "/"), name);
    long found = system_call((long)number, (word)path, flags, 0600, 0, 0, 0);
    CALL(munmap, path, size);
    return found;
}

long trace_created(const struct trace *trace, const char *name)
{
    return trace_call(trace, SYS_open, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
}

int trace_may_grow(word size)
{
    struct rlimit limit = {0, 0};
    return !FAILED(CALL(prlimit64, 0, RLIMIT_FSIZE, 0, &limit)) && limit.rlim_cur >= size;
}

int trace_has_room(long file, word size)
{
    return trace_may_grow(size) && !FAILED(CALL(fallocate, file, 0, 0, size));
}

void trace_begin(struct trace *trace, const char *folder, const char *places)
{
    char here[sizeof trace->folder];
    if (length(folder) < sizeof trace->folder)
        append(trace->folder, folder);
    if (length(places) < sizeof trace->places)
        append(trace->places, places);
    if (!FAILED(CALL(getcwd, here, sizeof here)))
        trace_entry(trace, A_FOLDER, 0, 0, 0, here);
}

void trace_program(char *path, word room)
{
    long size = CALL(readlink, "/proc/self/exe", path, room - 1);
    path[FAILED(size) ? 0 : size] = 0;
}

void trace_move(struct trace *to, const struct trace *from)
{
    append(to->folder, from->folder);
    append(to->places, from->places);
    append(to->hook, from->hook);
    to->hook_object = from->hook_object;
    to->filters = from->filters;
    to->filters_size = from->filters_size;
    to->whole = from->whole;
    to->entries_count = from->entries_count;
    for (word i = 0; i < from->entries_count; i++)
        for (word part = 0; part < ENTRY_SIZE; part++)
            to->entries[i][part] = from->entries[i][part];
}

static word nanoseconds(long clock)
{
    struct timespec now = {0, 0};
    CALL(clock_gettime, clock, &now);
    return (word)now.tv_sec * 1000000000 + (word)now.tv_nsec;
}

static void write_at(long file, const void *what, word size, word offset)
{
    if (trace_may_grow(offset + size))
        CALL(pwrite64, file, what, size, offset);
}

static void write_entry(const struct trace *trace, long file, word index)
{
    write_at(file, trace->entries[index], sizeof *trace->entries, FILE_HEADER + index * sizeof *trace->entries);
}

/* Opened each time: a program may close every file that it does not know. */
static long opened_again(const struct trace *trace)
{
    struct file_name name = trace_name(trace, trace->file, 0);
    return trace_call(trace, SYS_open, name.text, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
}

static word mapped_alone(void)
{
    word at = (word)CALL(mmap, 0, sizeof(word), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return !FAILED(at) && !FAILED(CALL(madvise, at, sizeof(word), MADV_WIPEONFORK)) ? at : 0;
}

/* A word that a forked child does not have. One of vfork has its parent's memory, and what it tells goes into the
 * parent's file: the next calls are the parent's again. (madvise(2), vfork(2)) */
static word *of_this_memory;

static int is_file_of_this_memory(void)
{
    return of_this_memory && *of_this_memory;
}

static void remember_this_memory(void)
{
    if (!of_this_memory)
        of_this_memory = (word *)mapped_alone();
    if (of_this_memory)
        *of_this_memory = 1;
}

/* A forked child that has no file yet has its parent's, where it writes nothing: its own will have all entries. */
static void write_entry_later(const struct trace *trace, word index)
{
    if (trace->pid != (word)CALL(getpid, 0) && !is_file_of_this_memory())
        return;
    long file = opened_again(trace);
    if (FAILED(file))
        return;
    write_entry(trace, file, index);
    CALL(close, file);
}

/* Its kind is last: others read it meanwhile. A forked child has no file of its own. */
static void write_entry_in_memory(const struct trace *trace, word index)
{
    volatile word *to = trace->mapped + index * ENTRY_SIZE;
    if (!trace_can_tell(trace) || !*trace->ours)
        return;
    for (word part = ENTRY_SIZE; part-- > 0;)
        to[part] = trace->entries[index][part];
}

/* In a forked child: they are its parent's. */
static void forget_threads(struct trace *trace)
{
    if (!trace->pid || trace->pid == trace->making)
        return;
    for (word i = 0; i < trace->entries_count && i < MOST_ENTRIES; i++)
        if (trace->entries[i][ENTRY_KIND] == A_THREAD_WITHOUT_FILE)
            trace->entries[i][ENTRY_KIND] = 0;
}

/* What it says then needs neither the folder, where a program may not come any more (chroot(2), setuid(2)), nor a system
 * call. A child's takes the place of its parent's. */
static word *head_mapped(word *before, long file)
{
    word flags = MAP_SHARED | (before ? MAP_FIXED : 0);
    if (!trace_has_room(file, FILE_HEADER)) /* the write to it would be SIGBUS */
        return 0;
    word at = (word)CALL(mmap, before, FILE_HEADER, PROT_READ | PROT_WRITE, flags, file, 0);
    return FAILED(at) ? 0 : (word *)at;
}

static void write_process(struct trace *trace, long file)
{
    word header[PROCESS_SIZE] = {[PROCESS_MAGIC] = MAGIC, [PROCESS_VERSION] = FILE_VERSION, [PROCESS_PID] = trace->making};
    header[PROCESS_PARENT] = (word)CALL(getppid, 0);
    header[PROCESS_TICKS] = ticks_now();
    header[PROCESS_MONOTONIC] = nanoseconds(CLOCK_MONOTONIC);
    header[PROCESS_REALTIME] = nanoseconds(CLOCK_REALTIME);
    write_at(file, header, sizeof header, 0);
    trace->head = head_mapped(trace->head, file);
    if (trace->head) /* those that have waited too long for it */
        __atomic_fetch_add(trace->head + PROCESS_WITHOUT_FILE, trace->without_file, __ATOMIC_RELAXED);
    forget_threads(trace);
    for (word i = 0; i < trace->entries_count && i < MOST_ENTRIES; i++)
        write_entry(trace, file, i);
}

/* Another thread makes it: it is waited for. Not for ever: a debugger may hold that thread. */
static int is_another_making(struct trace *trace, word pid)
{
    const struct timespec soon = {0, 1000000};
    if (__atomic_exchange_n(&trace->making, pid, __ATOMIC_SEQ_CST) != pid)
        return 0;
    word begun = nanoseconds(CLOCK_MONOTONIC);
    for (word i = 0; i < MOST_WAITS && nanoseconds(CLOCK_MONOTONIC) - begun < LONGEST; i++) {
        if (__atomic_load_n(&trace->pid, __ATOMIC_ACQUIRE) == pid)
            return 1;
        CALL(nanosleep, &soon, 0);
    }
    __atomic_store_n(&trace->pid, pid, __ATOMIC_RELEASE); /* who comes later does not wait again */
    return 1;
}

/* Each adds a byte to a file. */
static word number_of_process(const struct trace *trace)
{
    long file = trace_call(trace, SYS_open, "processes", O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC);
    if (FAILED(file))
        return 0;
    if (trace_may_grow((word)CALL(lseek, file, 0, SEEK_END) + 1))
        CALL(write, file, "\n", 1);
    long number = CALL(lseek, file, 0, SEEK_CUR); /* behind that byte, whoever else writes */
    CALL(close, file);
    return FAILED(number) ? 0 : (word)number;
}

static void make_process_file(struct trace *trace, word pid)
{
    if (is_another_making(trace, pid))
        return;
    trace->file = trace->without_file = 0;
    int may_be = trace->folder[0] && trace_may_grow(FILE_HEADER);
    for (word number = 1; may_be && number < MOST_FILES; number++) {
        long file = trace_created(trace, trace_name(trace, number, 0).text);
        if (file == -EEXIST)
            continue;
        if (FAILED(file))
            break;
        write_process(trace, file);
        CALL(close, file);
        trace->file = number;
        trace->number = number_of_process(trace);
        break;
    }
    remember_this_memory();
    __atomic_store_n(&trace->pid, pid, __ATOMIC_RELEASE);
}

/* Signals wait meanwhile: the calls of a handler would wait for their own thread, and its ring would have no file. */
int trace_process_file(struct trace *trace)
{
    word pid = (word)CALL(getpid, 0);
    if (trace->pid && is_file_of_this_memory())
        return trace->file != 0;
    if (__atomic_load_n(&trace->pid, __ATOMIC_ACQUIRE) != pid) {
        word before = signals_held();
        make_process_file(trace, pid);
        signals_come(before);
    }
    return trace->pid == pid && trace->file != 0;
}

static void fill(word *entry, word number, word address, word object, const char *text)
{
    word size = length(text), skipped = size < LONGEST_TEXT ? 0 : size - LONGEST_TEXT + 1; /* the end tells more */
    entry[ENTRY_NUMBER] = number;
    entry[ENTRY_ADDRESS] = address;
    entry[ENTRY_OBJECT] = object;
    append((char *)(entry + ENTRY_TEXT), text + skipped);
}

static word object_again(const struct trace *trace, word address, const char *text)
{
    for (word i = 0; i < trace->entries_count && i < MOST_ENTRIES; i++) {
        const word *entry = trace->entries[i];
        if (entry[ENTRY_KIND] == AN_OBJECT && entry[ENTRY_ADDRESS] == address &&
            !text_order((const char *)(entry + ENTRY_TEXT), text))
            return i + 1;
    }
    return 0;
}

/* Others are only worth reading beside calls. */
static int is_worth_a_file(word kind)
{
    return kind == A_FUNCTION || kind == A_FILTER || kind == A_THREAD_WITHOUT_FILE || kind == A_WRITTEN_SLOT ||
           kind == A_WRITTEN_ENTRY;
}

word trace_entry(struct trace *trace, word kind, word number, word address, word object, const char *text)
{
    word again = kind == AN_OBJECT ? object_again(trace, address, text) : 0;
    word index = again ? again - 1 : __atomic_fetch_add(&trace->entries_count, 1, __ATOMIC_SEQ_CST);
    if (index >= MOST_ENTRIES)
        return 0;
    fill(trace->entries[index], number, address, object, text);
    __atomic_store_n(&trace->entries[index][ENTRY_KIND], kind, __ATOMIC_SEQ_CST);
    if (trace->confined)
        write_entry_in_memory(trace, index);
    else if (is_worth_a_file(kind) ? trace_process_file(trace) : trace->file != 0)
        write_entry_later(trace, index);
    return index + 1;
}

/* Not where somebody has cut the file: a store would be SIGBUS. (Linux before 5.14 does not say.) */
static int is_there(const word *head)
{
    return head && CALL(madvise, head, FILE_HEADER, MADV_POPULATE_WRITE) != -EFAULT;
}

/* The beginning of the file is there, also where the disk has no room for another entry. */
void trace_without_file(struct trace *trace, word thread)
{
    word count = __atomic_add_fetch(&trace->without_file, 1, __ATOMIC_SEQ_CST);
    if (is_there(trace->head))
        __atomic_fetch_add(trace->head + PROCESS_WITHOUT_FILE, 1, __ATOMIC_RELAXED);
    if (trace->file && count <= MOST_TOLD_THREADS)
        trace_entry(trace, A_THREAD_WITHOUT_FILE, thread, 0, 0, "");
}

void trace_gone(struct trace *trace, word object)
{
    if (object - 1 < MOST_ENTRIES)
        trace->entries[object - 1][ENTRY_NUMBER] = 1;
}

int trace_can_tell(const struct trace *trace)
{
    return !trace->confined || trace->mapped;
}

static word entries_mapped(const struct trace *trace)
{
    word size = FILE_HEADER + sizeof trace->entries, at = 0;
    long file = opened_again(trace);
    if (FAILED(file))
        return 0;
    if (room_to_spare() >= size && trace_has_room(file, size))
        at = (word)CALL(mmap, 0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CALL(close, file);
    return FAILED(at) ? 0 : at;
}

void trace_confined(struct trace *trace, int is_worth_a_file)
{
    if (is_worth_a_file && trace_process_file(trace)) {
        word alone = mapped_alone(), at = alone ? entries_mapped(trace) : 0;
        trace->ours = (word *)alone;
        trace->mapped = at ? (word *)at + RING_HEADER : 0;
        if (alone)
            *trace->ours = 1;
    }
    __atomic_store_n(&trace->confined, 1, __ATOMIC_SEQ_CST);
}

word trace_object(const struct trace *trace, word address)
{
    word found = 0, nearest = 0;
    for (word i = 0; i < trace->entries_count && i < MOST_ENTRIES; i++) {
        const word *entry = trace->entries[i];
        if (entry[ENTRY_KIND] == AN_OBJECT && !entry[ENTRY_NUMBER] && entry[ENTRY_ADDRESS] <= address &&
            entry[ENTRY_ADDRESS] >= nearest) {
            found = i + 1;
            nearest = entry[ENTRY_ADDRESS];
        }
    }
    return found;
}
