/* Which layer a function is in, as far as the names of files tell: whether it is to be recorded. */
#include "trace.h"

#define HASH 8 /* digits */

static const char *file_of(const struct trace *trace, word object)
{
    return object - 1 < MOST_ENTRIES ? base_name((const char *)(trace->entries[object - 1] + ENTRY_TEXT)) : "";
}

void trace_hook(struct trace *trace, const char *path)
{
    if (length(path) < sizeof trace->hook)
        append(trace->hook, path);
}

word trace_loaded(struct trace *trace, word address, word dynamic, const char *path)
{
    word found = trace_entry(trace, AN_OBJECT, 0, address, dynamic, path);
    if (found && *trace->hook && !text_order(path, trace->hook)) {
        trace->hook_object = found;
        trace_entry(trace, A_HOOK, 0, 0, found, "");
    }
    return found;
}

static int is_hook(const struct trace *trace, word object)
{
    return object && object == trace->hook_object;
}

static int is_digit(char letter, char last)
{
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= last);
}

/* libcuda.so.1, and libcuda-0123abcd.so.1 as auditwheel names it; not libcuda-control.so, which is a hook library. */
static int is_named(const char *name, const char *library)
{
    if (!starts_with(name, library))
        return 0;
    const char *rest = name + length(library);
    word digits = 0;
    while (*rest == '-' && digits < HASH && is_digit(rest[1 + digits], 'f'))
        digits++;
    return *rest == '.' || (digits == HASH && rest[1 + HASH] == '.');
}

/* libc.so.6 or libc-2.31.so */
static int is_of_libc(const char *name, const char *library)
{
    const char *rest = name + length(library);
    return is_named(name, library) || (starts_with(name, library) && rest[0] == '-' && is_digit(rest[1], '9'));
}

int trace_is_system(const struct trace *trace, word object)
{
    const char *name = file_of(trace, object);
    return !is_hook(trace, object) && (is_of_libc(name, "libc") || is_of_libc(name, "libdl"));
}

int trace_is_of_machine(const char *file)
{
    const char *name = base_name(file);
    for (const char *const *one = api_of_machine; *one; one++) {
        char next = starts_with(name, *one) ? name[length(*one)] : 0;
        if (next == '.' || next == '-' || next == '_')
            return 1;
    }
    return 0;
}

/* The loader tells of the program first. */
static int is_program(const struct trace *trace, word object)
{
    for (word i = 0; i < trace->entries_count && i < MOST_ENTRIES; i++)
        if (trace->entries[i][ENTRY_KIND] == AN_OBJECT)
            return i + 1 == object;
    return 0;
}

/* What the runtime is called in a program that has it inside. */
static const char *layer_of(const struct trace *trace, word object, const char *function)
{
    const char *name = file_of(trace, object);
    if (is_hook(trace, object))
        return "hook";
    for (const struct api_vendor *one = api_vendors; one->name; one++)
        if (is_named(name, one->name))
            return one->layer;
    return !is_program(trace, object) ? "hook" : starts_with(function, "cuda") ? "runtime" : "app";
}

/* libfoo.so means libfoo.so.1 too. */
static int is_meant(const char *listed, word size, const char *name)
{
    for (word i = 0; i < size; i++)
        if (name[i] != listed[i])
            return 0;
    return !name[size] || (name[size] == '.' && size > 3 && starts_with(listed + size - 3, ".so"));
}

static int is_listed(const char *list, const char *name)
{
    while (*list) {
        word size = 0;
        while (list[size] && list[size] != ',')
            size++;
        if (is_meant(list, size, name))
            return 1;
        list += size + (list[size] == ',');
    }
    return 0;
}

int trace_is_wanted(const struct trace *trace, word object, const char *function)
{
    const char *list = trace->places;
    return !*list || is_listed(list, layer_of(trace, object, function)) || is_listed(list, file_of(trace, object));
}
