/* Which lines of Python led to a call (gdbcuda trace --python). The thread reads its own frames: what a frame in use leads
 * to is there, but nothing is taken on trust. A record has one word for the whole stack; what that means is written to a
 * file when it comes for the first time, and so are the code objects, whose memory may be another's later. */
#include "python.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define FAILED(result) ((word)(result) >= (word)-4095)
#define PAGES_BITS 12     /* of a table of pages that could be read lately */
#define AGE 20            /* ticks are counted in units of so many bits, */
#define LASTS 64ul        /* and so many units a page is taken to be there */
#define MOST_KNOWN 32768ul
#define TRIES 32ul
#define MOST_POSITION (1ul << 30)
#define MOST_TABLE (1ul << 20)
#define MOST_NAME 1024ul
#define MOST_KEYS 32ul    /* of pthread_key_create, in the thread control block */
#define KEYS_AT 0x310ul   /* glibc: struct pthread.specific_1stblock, each a number and a value */
#define USER (1ul << 47)
#define NONE ((word)-1)
#define GOLDEN 0x9e3779b97f4a7c15ul

__attribute__((visibility("protected"))) word gdbcuda_python_v1[PYTHON_SIZE];
static word pages[1 << PAGES_BITS], known[MOST_KNOWN];

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
    struct iovec here = {&byte, 1}, there = {(void *)(page * PAGE), 1};
    if (gdbcuda_recorder_v1[STATE_CONFINED] ||
        system_call(SYS_process_vm_readv, ring[RING_PID], (word)&here, 1, (word)&there, 1, 0) != 1)
        return 0;
    int is_second_older = ((now - first) & 0xfffffff) < ((now - second) & 0xfffffff);
    __atomic_store_n(two + (first >> 28 != page && is_second_older), page << 28 | now, __ATOMIC_RELAXED);
    return 1;
}

/* All of it, in one page or two. `near` is a page that was there just now: frames, and often code, lie side by side. */
static inline int is_near(const word *ring, word from, word size, word ticks, word *near)
{
    word page = from / PAGE, last = from + size - 1;
    if (page == *near && last / PAGE == page)
        return !(from % sizeof(word));
    *near = page;
    return from >= PAGE && last < USER && !(from % sizeof(word)) && is_page_there(ring, from / PAGE, ticks) &&
           (last / PAGE == from / PAGE || is_page_there(ring, last / PAGE, ticks));
}

static int is_there(const word *ring, word from, word size, word ticks)
{
    word near = NONE;
    return is_near(ring, from, size, ticks, &near);
}

static word at(word address)
{
    return *(word *)address;
}

static word own(word offset)
{
    word found;
    __asm__("mov %%fs:(%1), %0" : "=r"(found) : "r"(offset));
    return found;
}

/* The thread state that Python keeps for this thread; 0 where there is none. */
static word thread_state(const word *python, const word *ring, word ticks)
{
    word key = python[PYTHON_RUNTIME] + python[PYTHON_KEY];
    word number = is_there(ring, key, sizeof(word), ticks) ? at(key) >> 32 : MOST_KEYS;
    if (number >= MOST_KEYS || !(unsigned)at(key)) /* it has not begun, or has ended */
        return 0;
    word state = own(KEYS_AT + number * 2 * sizeof(word) + sizeof(word)), pthread = state + python[PYTHON_PTHREAD];
    return is_there(ring, pthread, sizeof(word), ticks) && at(pthread) == own(0x10) ? state : 0;
}

static word innermost(const word *python, const word *ring, word state, word ticks)
{
    word place = state + python[PYTHON_FRAME];
    if (python[PYTHON_THROUGH] != NONE && is_there(ring, place, sizeof(word), ticks))
        place = at(place) + python[PYTHON_THROUGH];
    return is_there(ring, place, sizeof(word), ticks) ? at(place) : 0;
}

static word mixed(word hash, word value)
{
    hash = (hash ^ value) * GOLDEN;
    return hash ^ hash >> 32;
}

static word turned(word value, int bits)
{
    return value << bits | value >> (64 - bits);
}

/* What a code object is called here. Another one at the same address has other tables, or begins in another line. */
static word code_id(const word *python, word code)
{
    word file = at(code + python[PYTHON_CODE_FILE]), lines = at(code + python[PYTHON_CODE_LINES]);
    word line = *(unsigned *)(code + python[PYTHON_CODE_FIRST_LINE]);
    return mixed(python[PYTHON_SALT] ^ turned(file, 20) ^ turned(lines, 40) ^ line << 48, code) | IS_PYTHON;
}

static word position_in(const word *python, word frame, word code)
{
    word found = at(frame + (python[PYTHON_POSITION] & ~7ul));
    if (python[PYTHON_CODE_START] != NONE)
        return found - code - python[PYTHON_CODE_START];
    return python[PYTHON_POSITION] & 4 ? found >> 32 : (unsigned)found;
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

/* A str: the kind of its characters, how many, and where they are. */
static struct iovec text(const word *python, const word *ring, word object, word ticks, word *kind)
{
    struct iovec none = {0, 0};
    *kind = 1;
    if (!is_there(ring, object, python[PYTHON_TEXT_COMPACT], ticks))
        return none;
    word size = at(object + python[PYTHON_TEXT_LENGTH]);
    word state = *(unsigned *)(object + python[PYTHON_TEXT_STATE]) >> python[PYTHON_STATE_SHIFT];
    word is_ascii = state >> 4 & 1, start = object + python[is_ascii ? PYTHON_TEXT_ASCII : PYTHON_TEXT_COMPACT];
    if (!(state & 7) || (state & 7) == 3 || (state & 7) > 4 || !(state >> 3 & 1) || size > MOST_NAME)
        return none;
    *kind = state & 7;
    return (struct iovec){(void *)start, size * (state & 7)};
}

static struct iovec bytes(const word *python, const word *ring, word object, word ticks)
{
    struct iovec none = {0, 0};
    if (!is_there(ring, object, python[PYTHON_BYTES_DATA], ticks) || at(object + python[PYTHON_BYTES_SIZE]) > MOST_TABLE)
        return none;
    return (struct iovec){(void *)(object + python[PYTHON_BYTES_DATA]), at(object + python[PYTHON_BYTES_SIZE])};
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
    char path[sizeof gdbcuda_trace.folder + 16], *to = path;
    for (const char *from = gdbcuda_trace.folder; *from; from++)
        *to++ = *from;
    for (const char *from = "/" PYTHON_STACKS; *from || (*to = 0); from++)
        *to++ = *from;
    long file = system_call(SYS_open, (word)path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600, 0, 0, 0);
    if (FAILED(file))
        return 0;
    long written = system_call(SYS_writev, (word)file, (word)parts, count, 0, 0, 0);
    system_call(SYS_close, (word)file, 0, 0, 0, 0, 0);
    return written == (long)size_of_all(parts, count);
}

/* Where a debugger finds it; 0 where there is no memory for it. */
static word told_area(void)
{
    word found = __atomic_load_n(&gdbcuda_python_v1[PYTHON_TOLD], __ATOMIC_ACQUIRE);
    if (found)
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

static int append(const word *ring, const struct iovec *parts, word count)
{
    return gdbcuda_trace.folder[0] ? append_to_file(parts, count) : append_to_memory(ring, parts, count);
}

static int code_told(const word *python, const word *ring, word code, word id, word ticks)
{
    word head[TOLD_SIZE] = {[TOLD_MAGIC] = MAGIC_CODE, [TOLD_ID] = id,
                                   [TOLD_VERSION] = python[PYTHON_VERSION]};
    head[TOLD_LINE] = *(unsigned *)(code + python[PYTHON_CODE_FIRST_LINE]);
    struct iovec file = text(python, ring, at(code + python[PYTHON_CODE_FILE]), ticks, &head[TOLD_FILE_KIND]);
    struct iovec name = text(python, ring, at(code + python[PYTHON_CODE_NAME]), ticks, &head[TOLD_NAME_KIND]);
    struct iovec lines = bytes(python, ring, at(code + python[PYTHON_CODE_LINES]), ticks);
    head[TOLD_FILE_SIZE] = file.iov_len;
    head[TOLD_NAME_SIZE] = name.iov_len;
    head[TOLD_LINES_SIZE] = lines.iov_len;
    struct iovec parts[] = {{head, sizeof head}, file, name, lines};
    return append(ring, parts, 4);
}

static int stack_told(const word *ring, word id, word count, word *frames)
{
    word head[] = {MAGIC_STACK, id, count};
    struct iovec parts[] = {{head, sizeof head}, {frames, count * 2 * sizeof(word)}};
    return append(ring, parts, 2);
}

/* The code of each, then where it is in it; `codes` are where they are. */
static word frames_of_thread(const word *python, const word *ring, word *frames, word *codes, word ticks)
{
    word state = thread_state(python, ring, ticks), count = 0, previous, frames_near = NONE, codes_near = NONE;
    word frame = state ? innermost(python, ring, state, ticks) : 0;
    for (word i = 0; frame && i < 2 * MOST_PYTHON && count < MOST_PYTHON; i++, frame = previous) {
        if (!is_near(ring, frame, python[PYTHON_FRAME_SIZE], ticks, &frames_near))
            break;
        previous = at(frame + python[PYTHON_PREVIOUS]);
        word code = at(frame + python[PYTHON_CODE]) & python[PYTHON_CODE_MASK];
        if (python[PYTHON_OWNER] != NONE && *(unsigned char *)(frame + python[PYTHON_OWNER]) >= 3) /* C called it */
            continue;
        if (!is_near(ring, code, python[PYTHON_CODE_OBJECT_SIZE], ticks, &codes_near))
            break;
        word position = position_in(python, frame, code);
        codes[count] = code;
        frames[2 * count] = code_id(python, code);
        frames[2 * count++ + 1] = position < MOST_POSITION ? position : 0;
    }
    return count;
}

word python_stack(const word *ring, word ticks)
{
    const word *python = gdbcuda_python_v1;
    word frames[2 * MOST_PYTHON], codes[MOST_PYTHON], id = 0;
    word count = python[PYTHON_RUNTIME] ? frames_of_thread(python, ring, frames, codes, ticks) : 0;
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
        if (is_new(frames[2 * i]) == 1 && !code_told(python, ring, codes[i], frames[2 * i], ticks))
            forget(frames[2 * i]);
    if (is_told && stack_told(ring, id, count, frames))
        return id;
    forget(id);
    return 0;
}
