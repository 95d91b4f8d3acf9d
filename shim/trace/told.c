/* What is executed with an environment of its own (env -i, subprocess.run(env=...)) is told of the recorder like other
 * children. What cannot read the recorder from where it is (chroot, another user) is not told: its loader would
 * complain. Nothing is allocated: a child of vfork has its parent's memory. */
#include "told.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

/* MOST_WORDS are on the stack of a thread that may have little: of more variables a child is not told. */
enum { MOST_OURS = 16, ROOM = 3 * 4096, OF_LOADER = 2, MOST_WORDS = 1024 };

static const char *const of_loader[OF_LOADER] = {"LD_AUDIT", "LD_PRELOAD"};
static char *nothing[] = {0};
static char texts[ROOM], *texts_end = texts;
static char *ours[MOST_OURS];
static word ours_count;
static char *recorder = texts; /* its file */
static int is_over;

static int is_of(const char *variable, const char *name)
{
    return starts_with(variable, name) && variable[length(name)] == '=';
}

static int has_variable(char **environment, const char *name)
{
    for (; *environment; environment++)
        if (is_of(*environment, name))
            return 1;
    return 0;
}

/* The hook library that LD_AUDIT names is not ours to add. */
static int is_ours(const char *variable, int has_gpu)
{
    return (starts_with(variable, "GDBCUDA_TRACE") && !is_of(variable, "GDBCUDA_TRACE_AUDIT")) ||
           (has_gpu && (starts_with(variable, "GDBCUDA_GPU") || is_of(variable, "CUDA_INJECTION64_PATH")));
}

static char *kept(const char *text)
{
    char *begin = texts_end;
    if (length(text) >= (word)(texts + ROOM - begin))
        return 0;
    texts_end = append(begin, text) + 1;
    return begin;
}

/* Bytes up to where the loader takes the next library. */
static word span(const char *libraries)
{
    word found = 0;
    while (libraries[found] && libraries[found] != ':' && libraries[found] != ' ')
        found++;
    return found;
}

/* Copied: a program may write over its environment, to be called something else. */
void told_begin(char **environment)
{
    int has_gpu = has_variable(environment, "GDBCUDA_GPU");
    const char *libraries = value_of(environment, of_loader[0]);
    if (!*value_of(environment, "GDBCUDA_TRACE") || !kept(libraries))
        return;
    recorder[span(libraries)] = 0;
    for (; *environment && ours_count < MOST_OURS; environment++) {
        char *one = is_ours(*environment, has_gpu) ? kept(*environment) : 0;
        if (one)
            ours[ours_count++] = one;
    }
}

void told_ends(void)
{
    is_over = 1;
}

static int is_recorder(const char *library, word size)
{
    return size == length(recorder) && starts_with(library, recorder);
}

/* The libraries but the recorder, each behind a colon. */
static char *append_others(char *to, const char *libraries)
{
    for (word size; *libraries; libraries += size + (libraries[size] != 0)) {
        size = span(libraries);
        if (!size || is_recorder(libraries, size))
            continue;
        *to++ = ':';
        for (word i = 0; i < size; i++)
            *to++ = libraries[i];
        *to = 0;
    }
    return to;
}

static int names_recorder(const char *libraries)
{
    for (word size; *libraries; libraries += size + (libraries[size] != 0)) {
        size = span(libraries);
        if (is_recorder(libraries, size))
            return 1;
    }
    return 0;
}

/* As the loader opens it: where nobody knows what the program has confined itself to, what it executes has to be let do
 * that. A limit of open files says nothing of the path. */
static int is_within_reach(void)
{
    long file = system_call(SYS_openat, (word)AT_FDCWD, (word)recorder, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (!FAILED(file))
        system_call(SYS_close, (word)file, 0, 0, 0, 0, 0);
    return !FAILED(file) || file == -EMFILE || file == -ENFILE;
}

/* Of another environment: its variables, and what the loader's have. */
static word slots_for(char **environment)
{
    word count = ours_count + OF_LOADER + 1;
    while (*environment++)
        count++;
    return count;
}

static word texts_for(char **environment)
{
    word bytes = 0;
    for (word i = 0; i < OF_LOADER; i++)
        bytes += sizeof "LD_PRELOAD=::" + length(recorder) + length(value_of(environment, of_loader[i]));
    return bytes / sizeof(word) + 1;
}

/* The kernel is asked, which says EFAULT of what the program has given it by mistake. */
static int is_readable(char **environment)
{
    long file = system_call(SYS_openat, (word)AT_FDCWD, (word)environment, O_PATH | O_CLOEXEC, 0, 0, 0);
    if (!FAILED(file))
        system_call(SYS_close, (word)file, 0, 0, 0, 0, 0);
    return file != -EFAULT;
}

/* Who has taken the recorder out of an environment that says our folder meant that. */
struct telling telling_of(char **environment)
{
    const struct telling none = {0, 0, 0};
    environment = environment ? environment : nothing;
    if (!ours_count || is_over || !is_readable(environment))
        return none;
    int has_ours = has_variable(environment, "GDBCUDA_TRACE"), is_told = is_within_reach(), is_named = 0;
    for (word i = 0; i < OF_LOADER; i++)
        is_named |= names_recorder(value_of(environment, of_loader[i]));
    if (is_told ? has_ours : !is_named)
        return none;
    word slots = slots_for(environment), room = slots + texts_for(environment);
    return room > MOST_WORDS ? none : (struct telling){room, slots, is_told};
}

/* NAME=LIBRARIES; 0 where there are none. */
static char *libraries_told(char **text, const char *name, const char *others, int is_told)
{
    char *begin = *text, *libraries = append(append(begin, name), "=");
    char *end = append_others(is_told ? append(libraries, recorder) : libraries, others);
    if (*libraries == ':') /* no recorder in front of it */
        for (char *at = libraries; at < end; at++)
            *at = at[1];
    *text = end + 1;
    return *libraries ? begin : 0;
}

char **told(struct telling how, char **room, char **environment)
{
    if (!how.room)
        return environment;
    environment = environment ? environment : nothing;
    char **to = room, **end = room + how.slots - 1, *text = (char *)(end + 1);
    for (word i = 0; i < OF_LOADER; i++) {
        *to = libraries_told(&text, of_loader[i], value_of(environment, of_loader[i]), how.is_told);
        to += *to != 0;
    }
    for (word i = 0; how.is_told && i < ours_count; i++)
        *to++ = ours[i];
    for (char **from = environment; *from && to < end; from++) /* another thread may have added some */
        if (!is_of(*from, of_loader[0]) && !is_of(*from, of_loader[1]))
            *to++ = *from;
    *to = 0;
    return room;
}
