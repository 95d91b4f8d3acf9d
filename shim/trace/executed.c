/* By which functions of the C library a program executes another. Those that take no environment give the program's
 * own: they are led to those that take one. */
#include "symbols.h"
#include "told.h"

#include <stdarg.h>

enum { EXECVE, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP, ORIGINALS };
#define CALLED(function, kind, ...) ((__typeof__(&(function)))originals[kind])(__VA_ARGS__)

static word originals[ORIGINALS];
static const struct link_map *program, *libc;

#define ROOM_FOR(environment)                     \
    struct telling how = telling_of(environment); \
    char *room[how.room + 1]

static int at_execve(const char *path, char **words, char **environment)
{
    ROOM_FOR(environment);
    return CALLED(at_execve, EXECVE, path, words, told(how, room, environment));
}

static int at_execvpe(const char *file, char **words, char **environment)
{
    ROOM_FOR(environment);
    return CALLED(at_execvpe, EXECVPE, file, words, told(how, room, environment));
}

static int at_fexecve(int file, char **words, char **environment)
{
    ROOM_FOR(environment);
    return CALLED(at_fexecve, FEXECVE, file, words, told(how, room, environment));
}

static int at_execveat(int folder, const char *path, char **words, char **environment, int flags)
{
    ROOM_FOR(environment);
    return CALLED(at_execveat, EXECVEAT, folder, path, words, told(how, room, environment), flags);
}

static int at_spawn(void *child, const char *path, void *actions, void *attributes, char **words, char **environment)
{
    ROOM_FOR(environment);
    return CALLED(at_spawn, SPAWN, child, path, actions, attributes, words, told(how, room, environment));
}

static int at_spawnp(void *child, const char *file, void *actions, void *attributes, char **words, char **environment)
{
    ROOM_FOR(environment);
    return CALLED(at_spawnp, SPAWNP, child, file, actions, attributes, words, told(how, room, environment));
}

static word address_of(const struct link_map *object, const char *name)
{
    const ElfW(Sym) *symbol = object ? symbol_of(object, name) : 0;
    return symbol ? object->l_addr + symbol->st_value : 0;
}

/* A program that is linked to be at one address has the variable itself. */
static char **own_environment(void)
{
    word at = address_of(program, "__environ");
    at = at ? at : address_of(program, "environ");
    at = at ? at : address_of(libc, "__environ");
    return at ? *(char ***)at : 0;
}

static int at_execv(const char *path, char **words)
{
    return at_execve(path, words, own_environment());
}

static int at_execvp(const char *file, char **words)
{
    return at_execvpe(file, words, own_environment());
}

/* How many words there are with the zero behind them; they are written where there is room. */
static word collected(char **to, char *first, va_list rest)
{
    word count = 0;
    for (char *one = first;; one = va_arg(rest, char *)) {
        if (to)
            to[count] = one;
        count++;
        if (!one)
            return count;
    }
}

#define COLLECTED(words, first, rest)           \
    va_list rest, before;                       \
    va_start(rest, first);                      \
    va_copy(before, rest);                      \
    char *words[collected(0, first, before)];   \
    va_end(before);                             \
    collected(words, first, rest)

static int at_execl(const char *path, char *first, ...)
{
    COLLECTED(words, first, rest);
    va_end(rest);
    return at_execv(path, words);
}

static int at_execlp(const char *file, char *first, ...)
{
    COLLECTED(words, first, rest);
    va_end(rest);
    return at_execvp(file, words);
}

static int at_execle(const char *path, char *first, ...)
{
    COLLECTED(words, first, rest);
    char **environment = va_arg(rest, char **);
    va_end(rest);
    return at_execve(path, words, environment);
}

static const struct {
    const char *name;
    word code, calls;
} all[] = {
    {"execve", (word)at_execve, EXECVE},         {"execvpe", (word)at_execvpe, EXECVPE},
    {"fexecve", (word)at_fexecve, FEXECVE},      {"execveat", (word)at_execveat, EXECVEAT},
    {"posix_spawn", (word)at_spawn, SPAWN},      {"posix_spawnp", (word)at_spawnp, SPAWNP},
    {"execv", (word)at_execv, EXECVE},           {"execvp", (word)at_execvp, EXECVPE},
    {"execl", (word)at_execl, EXECVE},           {"execlp", (word)at_execlp, EXECVPE},
    {"execle", (word)at_execle, EXECVE},
};

/* Of the program's space. */
void executed_begin(const struct link_map *object)
{
    if (!*object->l_name)
        program = object;
    if (starts_with(base_name(object->l_name), "libc.so"))
        libc = object;
}

/* Another space has a C library of its own. */
word tells_of_executed(const char *name, word original, word to)
{
    for (word i = 0; libc && object_begins(to) == libc->l_addr && i < sizeof all / sizeof *all; i++)
        if (!text_order(name, all[i].name)) {
            word kind = all[i].calls, called = kind == i ? original : address_of(libc, all[kind].name);
            if (called)
                __atomic_store_n(&originals[kind], called, __ATOMIC_SEQ_CST);
            return called ? all[i].code : original;
        }
    return original;
}
