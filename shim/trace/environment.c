/* What the environment says at the start: no libc is there to be asked. What the program makes of it by itself. */
#include "trace.h"

enum { LONGEST_RANK = 64 }; /* bytes of a variable with its value; a longer one names none */

static word real_setenv, real_putenv;

const char *value_of(char **environment, const char *name)
{
    for (; *environment; environment++) {
        word at = length(name);
        if (starts_with(*environment, name) && (*environment)[at] == '=')
            return *environment + at + 1;
    }
    return "";
}

word number_in(const char *text)
{
    word found = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        found = found * 10 + (word)(*text - '0');
    return found;
}

static void rank_noted(struct trace *trace, const char *variable)
{
    for (const char *const *name = rank_names; *name; name++)
        if (starts_with(variable, *name) && variable[length(*name)] == '=')
            trace_entry(trace, A_RANK, 0, 0, 0, variable);
}

void ranks_begin(struct trace *trace, char **environment)
{
    for (; *environment; environment++)
        rank_noted(trace, *environment);
}

/* A worker that is told its rank otherwise makes the variable itself, and its libraries read that. */
static int at_setenv(const char *name, const char *value, int replaces)
{
    int failed = ((int (*)(const char *, const char *, int))real_setenv)(name, value, replaces);
    char variable[LONGEST_RANK];
    if (!failed && replaces && length(name) + length(value) + sizeof "=" <= sizeof variable) {
        append(append(append(variable, name), "="), value);
        rank_noted(this_trace(), variable);
    }
    return failed;
}

static int at_putenv(char *variable)
{
    int failed = ((int (*)(char *))real_putenv)(variable);
    if (!failed && length(variable) < LONGEST_RANK)
        rank_noted(this_trace(), variable);
    return failed;
}

word tells_of_ranks(const char *name, word original)
{
    int is_setenv = !text_order(name, "setenv");
    if (!is_setenv && text_order(name, "putenv"))
        return original;
    __atomic_store_n(is_setenv ? &real_setenv : &real_putenv, original, __ATOMIC_SEQ_CST);
    return is_setenv ? (word)at_setenv : (word)at_putenv;
}
