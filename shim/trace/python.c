/* Which lines of Python led to a call (gdbcuda trace --python). A record has one word for the whole stack; what that means
 * is written to a file when it comes for the first time, and so are the code objects, whose memory may be another's
 * later. */
#include "python.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define MOST_KNOWN 32768ul
#define TRIES 32ul

__attribute__((visibility("protected"))) word gdbcuda_python_v1[PYTHON_SIZE];
static word known[MOST_KNOWN];

static word mixed(word hash, word value)
{
    hash = (hash ^ value) * GOLDEN;
    return hash ^ hash >> 32;
}

static word turned(word value, int bits)
{
    return value << bits | value >> (64 - bits);
}

word python_code_id(const word *python, const char *seen, word code)
{
    word file = word_at(seen, python[PYTHON_CODE_FILE]), lines = word_at(seen, python[PYTHON_CODE_LINES]);
    word line = (unsigned)word_at(seen, python[PYTHON_CODE_FIRST_LINE]);
    return mixed(python[PYTHON_SALT] ^ turned(file, 20) ^ turned(lines, 40) ^ line << 48, code) | IS_PYTHON;
}

/* True for the first who asks. */
static int is_new(word id)
{
    for (word i = 0; i < TRIES; i++) {
        word *place = &known[(id + i) % MOST_KNOWN], found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (found == id)
            return 0;
        if (!found && __atomic_compare_exchange_n(place, &found, id, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return 1;
        if (found == id)
            return 0;
    }
    return -1;
}

static void forget(word id)
{
    for (word i = 0; i < TRIES; i++)
        if (known[(id + i) % MOST_KNOWN] == id)
            known[(id + i) % MOST_KNOWN] = 1; /* nobody's, and no end of a search */
}

static word size_of_all(const struct iovec *parts, word count)
{
    word size = 0;
    for (word i = 0; i < count; i++)
        size += parts[i].iov_len;
    return size;
}

/* At once: others write there as well. The kernel reads what is not there to be read without a fault. */
static int append_to_file(const struct iovec *parts, word count)
{
    word flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, size = size_of_all(parts, count);
    long file = trace_call(&gdbcuda_trace, SYS_open, PYTHON_STACKS, flags), written = -1;
    if (FAILED(file))
        return 0;
    if (trace_may_grow((word)system_call(SYS_lseek, (word)file, 0, 2, 0, 0, 0) + size))
        written = system_call(SYS_writev, (word)file, (word)parts, count, 0, 0, 0);
    system_call(SYS_close, (word)file, 0, 0, 0, 0, 0);
    return written == (long)size;
}

/* Where a debugger finds it; 0 where there is no memory for it. */
static word told_area(void)
{
    word found = __atomic_load_n(&gdbcuda_python_v1[PYTHON_TOLD], __ATOMIC_ACQUIRE);
    if (found || room_to_spare() < MOST_TOLD)
        return found;
    word made = (word)system_call(SYS_mmap, 0, MOST_TOLD, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (word)-1, 0);
    if (FAILED(made))
        return 0;
    if (__atomic_compare_exchange_n(&gdbcuda_python_v1[PYTHON_TOLD], &found, made, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return made;
    system_call(SYS_munmap, made, MOST_TOLD, 0, 0, 0, 0);
    return found;
}

static int append_to_memory(const word *ring, const struct iovec *parts, word count)
{
    word area = told_area(), size = size_of_all(parts, count);
    if (!area)
        return 0;
    word from = __atomic_fetch_add(&gdbcuda_python_v1[PYTHON_TOLD_SIZE], size, __ATOMIC_SEQ_CST);
    if (from > MOST_TOLD || size > MOST_TOLD - from)
        return 0;
    struct iovec to = {(void *)(area + from), size};
    return system_call(SYS_process_vm_readv, ring[RING_PID], (word)&to, 1, (word)parts, count, 0) == (long)size;
}

static int append_parts(const word *ring, const struct iovec *parts, word count)
{
    return gdbcuda_trace.folder[0] ? append_to_file(parts, count) : append_to_memory(ring, parts, count);
}

static int code_told(struct python_reader *reader, word code, word id)
{
    const word *python = reader->python;
    struct python_part part;
    part.near = NONE;
    const char *seen = python_seen(reader, code, python[PYTHON_CODE_OBJECT_SIZE], &part);
    if (!seen)
        return 0;
    word head[TOLD_SIZE] = {[TOLD_MAGIC] = MAGIC_CODE, [TOLD_ID] = id,
                                   [TOLD_VERSION] = python[PYTHON_VERSION]};
    head[TOLD_LINE] = (unsigned)word_at(seen, python[PYTHON_CODE_FIRST_LINE]);
    struct iovec file = python_text(reader, word_at(seen, python[PYTHON_CODE_FILE]), &head[TOLD_FILE_KIND]);
    struct iovec name = python_text(reader, word_at(seen, python[PYTHON_CODE_NAME]), &head[TOLD_NAME_KIND]);
    struct iovec lines = python_table(reader, word_at(seen, python[PYTHON_CODE_LINES]));
    head[TOLD_FILE_SIZE] = file.iov_len;
    head[TOLD_NAME_SIZE] = name.iov_len;
    head[TOLD_LINES_SIZE] = lines.iov_len;
    struct iovec parts[] = {{head, sizeof head}, file, name, lines};
    return append_parts(reader->ring, parts, 4);
}

static int stack_told(const word *ring, word id, word count, word *frames)
{
    word head[] = {MAGIC_STACK, id, count};
    struct iovec parts[] = {{head, sizeof head}, {frames, count * 2 * sizeof(word)}};
    return append_parts(ring, parts, 2);
}

word python_stack(const word *ring, word ticks)
{
    struct python_reader reader = {gdbcuda_python_v1, ring, ticks, 1};
    word frames[2 * MOST_PYTHON], codes[MOST_PYTHON], id = 0;
    word count = reader.python[PYTHON_RUNTIME] ? python_frames(&reader, frames, codes) : 0;
    if (!count)
        return 0;
    for (word i = 0; i < count; i++)
        id = mixed(id, frames[2 * i] + frames[2 * i + 1]);
    id |= IS_PYTHON;
    int found = is_new(id);
    if (found < 1)
        return found ? 0 : id;
    int is_told = !gdbcuda_recorder_v1[STATE_CONFINED];
    for (word i = 0; is_told && i < count; i++)
        if (is_new(frames[2 * i]) == 1 && !code_told(&reader, codes[i], frames[2 * i]))
            forget(frames[2 * i]);
    if (is_told && stack_told(ring, id, count, frames))
        return id;
    forget(id);
    return 0;
}
