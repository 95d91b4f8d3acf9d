/* Which calls are recorded (gdbcuda trace --filter): gdbcuda has written the code that asks, before the program began. */
#include "trace.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define HEADER 2ul /* words: MAGIC, how many */

static word file_mapped(const char *path, word *size)
{
    word file = (word)system_call(SYS_open, (word)path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0, 0, 0, 0);
    if (FAILED(file))
        return 0;
    *size = (word)system_call(SYS_lseek, file, 0, 2, 0, 0, 0);
    word at = (word)system_call(SYS_mmap, 0, *size, PROT_READ, MAP_PRIVATE, file, 0);
    system_call(SYS_close, file, 0, 0, 0, 0, 0);
    return FAILED(*size) || FAILED(at) ? 0 : at;
}

static int is_sound(const word *filters, word size)
{
    return filters && size >= HEADER * sizeof(word) && filters[0] == MAGIC &&
           filters[1] <= (size / sizeof(word) - HEADER) / FILTER_SIZE;
}

word folder_file(const struct trace *trace, const char *name, word *size)
{
    char path[sizeof trace->folder + 16];
    append(append(append(path, trace->folder), "/"), name);
    return file_mapped(path, size);
}

void filters_begin(struct trace *trace)
{
    if (trace->filters)
        return;
    const word *found = (const word *)folder_file(trace, "filters", &trace->filters_size);
    trace->filters = is_sound(found, trace->filters_size) ? found : 0;
}

const word *filter_of(const struct trace *trace, const char *name)
{
    for (word i = 0; trace->filters && i < trace->filters[1]; i++) {
        const word *filter = trace->filters + HEADER + i * FILTER_SIZE;
        word end = filter[FILTER_CODE] + filter[FILTER_SIZE_OF_CODE];
        if (!text_order((const char *)(filter + FILTER_NAME), name))
            return end <= trace->filters_size ? filter : 0;
    }
    return 0;
}

enum { FRONT = sizeof door_begins }; /* as at a door: a hook library may move it */

/* Pages of their own, for none is ever both written and executed. 0 where a system has none to be executed. */
static word code_of(const char *from, word size, const word *targets)
{
    word all = FRONT + size;
    word at = (word)system_call(SYS_mmap, 0, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (word)-1, 0);
    if (FAILED(at))
        return 0;
    for (word i = 0; i < all; i++)
        ((char *)at)[i] = i < FRONT ? door_begins[i] : from[i - FRONT];
    for (word i = 0; i < 2; i++)
        ((word *)(at + all))[i - 2] = targets[i];
    if (!system_call(SYS_mprotect, at, all, PROT_READ | PROT_EXEC, 0, 0, 0))
        return at;
    system_call(SYS_munmap, at, all, 0, 0, 0, 0);
    return 0;
}

/* Where it cannot be asked here, every call is recorded; who reads them asks. */
word filtered(struct trace *trace, const word *filter, word slot, word entry, word original)
{
    const word targets[] = {entry, original};
    word size = filter[FILTER_SIZE_OF_CODE];
    word code = size && !trace->confined ? code_of((const char *)trace->filters + filter[FILTER_CODE], size, targets) : 0;
    if (!code)
        return entry;
    trace->filtered[slot] = code;
    trace_entry(trace, A_FILTER, slot, 0, 0, "");
    return code;
}
