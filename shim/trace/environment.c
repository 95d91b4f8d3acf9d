/* What the environment says at the start: no libc is there to be asked. */
#include "trace.h"

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

void ranks_begin(struct trace *trace, char **environment)
{
    for (; *environment; environment++)
        for (const char *const *name = rank_names; *name; name++)
            if (starts_with(*environment, *name) && (*environment)[length(*name)] == '=')
                trace_entry(trace, A_RANK, 0, 0, 0, *environment);
}
