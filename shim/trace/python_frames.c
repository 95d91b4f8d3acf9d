/* The frames of Python of a thread, and whose frames they are to be: its own, or where it runs none of those that wait for
 * what it does. PyTorch makes gradients in threads of its own; the line that asked for them waits in backward(). */
#include "python.h"

#define MOST_KEYS 32ul     /* of pthread_key_create, in the thread control block */
#define KEYS_AT 0x310ul    /* glibc: struct pthread.specific_1stblock, each a number and a value */
#define MOST_THREADS 1024ul
#define OUTERMOST 30ul
#define INNERMOST (MOST_PYTHON - OUTERMOST - 2ul) /* beside them a word for those between, and one for what is unreadable */
#define MOST_WALKED 16384ul
#define OF_C 3             /* the owner of frames that only mark where C called the interpreter */

/* gdbcuda/cpython/autograd.py has the same. */
static const char *const waiting[][2] = {
    {"_engine_run_backward", "/torch/autograd/graph.py"},
    {"backward", "/torch/autograd/__init__.py"},
    {"grad", "/torch/autograd/__init__.py"},
};

static word own(word offset)
{
    word found;
    __asm__("mov %%fs:(%1), %0" : "=r"(found) : "r"(offset));
    return found;
}

static word innermost(struct python_reader *reader, word state)
{
    const word *python = reader->python;
    word place = state + python[PYTHON_FRAME];
    if (python[PYTHON_THROUGH] != NONE)
        place = python_word(reader, place) + python[PYTHON_THROUGH];
    return python_word(reader, place);
}

/* The thread states of every interpreter, one after the other. */
struct states {
    struct python_reader *reader;
    word interpreter, state, left;
};

static struct states all_states(struct python_reader *reader)
{
    const word *python = reader->python;
    word first = python_word(reader, python[PYTHON_RUNTIME] + python[PYTHON_INTERPRETERS]);
    return (struct states){reader, first, first ? python_word(reader, first + python[PYTHON_THREADS]) : 0, MOST_THREADS};
}

static word next_state(struct states *states)
{
    const word *python = states->reader->python;
    while (!states->state && states->interpreter && states->left) {
        states->left--;
        states->interpreter = python_word(states->reader, states->interpreter + python[PYTHON_INTERPRETER_NEXT]);
        if (states->interpreter)
            states->state = python_word(states->reader, states->interpreter + python[PYTHON_THREADS]);
    }
    word found = states->state;
    if (!found || !states->left)
        return 0;
    states->left--;
    states->state = python_word(states->reader, found + python[PYTHON_NEXT]);
    return found;
}

/* One that runs Python comes first: a thread may have the number of one that has ended. */
static word state_by_number(struct python_reader *reader)
{
    struct states states = all_states(reader);
    word found = 0;
    for (word one; (one = next_state(&states));)
        if (python_word(reader, one + reader->python[PYTHON_PTHREAD]) == own(0x10)) {
            found = one;
            if (innermost(reader, one))
                return one;
        }
    return found;
}

/* The thread state that Python keeps for this thread; 0 where there is none. */
static word thread_state(struct python_reader *reader)
{
    const word *python = reader->python;
    if (python[PYTHON_KEY] == NONE)
        return state_by_number(reader);
    word key = python_word(reader, python[PYTHON_RUNTIME] + python[PYTHON_KEY]), number = key >> 32;
    if (number >= MOST_KEYS || !(unsigned)key) /* it has not begun, or has ended */
        return 0;
    word state = own(KEYS_AT + number * 2 * sizeof(word) + sizeof(word));
    return python_word(reader, state + python[PYTHON_PTHREAD]) == own(0x10) ? state : 0;
}

static word code_of(const word *python, const char *frame)
{
    return word_at(frame, python[PYTHON_CODE]) & python[PYTHON_CODE_MASK];
}

static int is_marked_by_c(const word *python, const char *frame)
{
    return python[PYTHON_OWNER] != NONE && (unsigned char)frame[python[PYTHON_OWNER]] >= OF_C;
}

static int does_end(struct python_reader *reader, word object, const char *end, int is_whole)
{
    word kind, size = length(end);
    struct iovec found = python_text(reader, object, &kind);
    struct python_part part;
    part.near = NONE;
    if (kind != 1 || found.iov_len < size || (is_whole && found.iov_len != size))
        return 0;
    const char *seen = python_bytes(reader, (word)found.iov_base + found.iov_len - size, size, &part);
    for (word i = 0; seen && i < size; i++)
        if (seen[i] != end[i])
            return 0;
    return seen != 0;
}

/* The thread has called PyTorch's engine, and does nothing else meanwhile. */
static int python_waits(struct python_reader *reader, word state)
{
    const word *python = reader->python;
    struct python_part part;
    part.near = NONE;
    word at = innermost(reader, state);
    const char *frame = at ? python_seen(reader, at, python[PYTHON_FRAME_SIZE], &part) : 0;
    if (!frame || is_marked_by_c(python, frame))
        return 0;
    const char *code = python_seen(reader, code_of(python, frame), python[PYTHON_CODE_OBJECT_SIZE], &part);
    if (!code)
        return 0;
    word name = word_at(code, python[PYTHON_CODE_NAME]), file = word_at(code, python[PYTHON_CODE_FILE]);
    for (word i = 0; i < sizeof waiting / sizeof *waiting; i++)
        if (does_end(reader, name, waiting[i][0], 1) && does_end(reader, file, waiting[i][1], 0))
            return 1;
    return 0;
}

/* The one that waits; 0 where none does, or where two do and either may be meant. */
static word waiting_thread(struct python_reader *reader, word state)
{
    struct states states = all_states(reader);
    word found = 0;
    for (word one; (one = next_state(&states));)
        if (one != state && python_waits(reader, one)) {
            if (found)
                return 0;
            found = one;
        }
    return found;
}

/* Of a frame whose code cannot be read, or that cannot be read itself: no code has this word. */
static word unreadable(word *frames, word count)
{
    frames[2 * count] = 0;
    frames[2 * count + 1] = NOWHERE_KNOWN;
    return count + 1;
}

/* `of_code`: of the one before. */
static inline __attribute__((always_inline)) word added(struct python_reader *reader, const char *frame, word *frames,
                                                        word *codes, word count, struct python_part *of_code)
{
    word code = code_of(reader->python, frame);
    const char *seen = python_seen(reader, code, reader->python[PYTHON_CODE_OBJECT_SIZE], of_code);
    if (!seen)
        return unreadable(frames, count);
    codes[count] = code;
    frames[2 * count] = python_code_id(reader->python, seen, code);
    frames[2 * count + 1] = python_position(reader, frame, code);
    return count + 1;
}

/* The frames between the innermost and the outermost: no code's word, and how many they are. */
static word left_out(word *frames, word count, word more)
{
    frames[2 * count] = 0;
    frames[2 * count + 1] = more;
    return count + 1;
}

/* Of the frames from there on the outermost: who asked is in a stack of any depth at one of its ends. */
static word outermost(struct python_reader *reader, word *frame, word *frames, word *codes, word count)
{
    const word *python = reader->python;
    struct python_part part, of_code;
    part.near = of_code.near = NONE;
    word last[OUTERMOST], walked = 0, most = reader->is_own ? MOST_WALKED : MOST_PYTHON;
    for (word previous; *frame && walked < most; *frame = previous) {
        const char *seen = python_seen(reader, *frame, python[PYTHON_FRAME_SIZE], &part);
        if (!seen)
            break;
        previous = word_at(seen, python[PYTHON_PREVIOUS]);
        if (!is_marked_by_c(python, seen))
            last[walked++ % OUTERMOST] = *frame;
    }
    word first = walked > OUTERMOST ? walked - OUTERMOST : 0;
    if (first)
        count = left_out(frames, count, first);
    for (word i = first; i < walked; i++) {
        const char *seen = python_seen(reader, last[i % OUTERMOST], python[PYTHON_FRAME_SIZE], &part);
        count = seen ? added(reader, seen, frames, codes, count, &of_code) : unreadable(frames, count);
    }
    return *frame ? unreadable(frames, count) : count;
}

/* The code of each, then where it is in it; `codes` are where they are. `*frame` is 0 behind the thread's first. */
static word frames_from(struct python_reader *reader, word *frame, word *frames, word *codes)
{
    const word *python = reader->python;
    struct python_part part, of_code;
    part.near = of_code.near = NONE;
    word count = 0, previous;
    for (word i = 0; *frame && i < 2 * MOST_PYTHON && count < INNERMOST; i++, *frame = previous) {
        const char *seen = python_seen(reader, *frame, python[PYTHON_FRAME_SIZE], &part);
        if (!seen)
            return unreadable(frames, count);
        previous = word_at(seen, python[PYTHON_PREVIOUS]);
        if (!is_marked_by_c(python, seen))
            count = added(reader, seen, frames, codes, count, &of_code);
    }
    return *frame ? outermost(reader, frame, frames, codes, count) : count;
}

word python_frames(struct python_reader *reader, word *frames, word *codes)
{
    word state = thread_state(reader), frame = state ? innermost(reader, state) : 0;
    word count = frames_from(reader, &frame, frames, codes);
    if (count || frame || !state)
        return count;
    reader->is_own = 0;
    word other = waiting_thread(reader, state);
    frame = other ? innermost(reader, other) : 0;
    return frames_from(reader, &frame, frames, codes);
}
