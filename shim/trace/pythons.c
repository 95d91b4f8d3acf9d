/* Is an object that is loaded a CPython, and how does that one lay out its structs? Its file is only mapped yet. */
#include "python.h"
#include "symbols.h"

static int may_be_python(const struct link_map *object)
{
    const char *name = base_name(object->l_name);
    return !*object->l_name || starts_with(name, "libpython") || starts_with(name, "python");
}

static void take(word *python, const word *words)
{
    for (word i = 0; i < PYTHON_SIZE; i++)
        if (i == PYTHON_RUNTIME || i == PYTHON_VERSION || i >= PYTHON_FRAME)
            python[i] = words[i];
}

static void take_published(word *python, const word *table, word version)
{
    word words[PYTHON_SIZE];
    for (const struct python_published *one = python_published; one->version; one++)
        if (one->version == version && one->is_free_threaded == !!table[2]) {
            for (word i = 0; i < PYTHON_SIZE; i++)
                words[i] = (one->words[i] == NONE ? 0 : table[one->words[i]]) + one->more[i];
            take(python, words);
        }
}

static word version_of(const struct link_map *object, word size)
{
    const ElfW(Sym) *number = symbol_of(object, "Py_Version");
    if (number)
        return *(const unsigned *)(object->l_addr + number->st_value) >> 16;
    return size == 656 ? 0x309 : size == 672 ? 0x30a : 0; /* bytes of _PyRuntime */
}

void python_noticed(const struct link_map *object, word *python)
{
    if (!python[PYTHON_NAMES] || python[PYTHON_RUNTIME] || !may_be_python(object))
        return;
    const ElfW(Sym) *runtime = symbol_of(object, "_PyRuntime");
    if (!runtime)
        return;
    const word *table = (const word *)(object->l_addr + runtime->st_value);
    word version = version_of(object, runtime->st_size);
    if (table[0] == python_cookie)
        take_published(python, table, table[1] >> 16);
    else
        for (const word *one = python_layouts[0]; one[PYTHON_VERSION]; one += PYTHON_SIZE)
            if (one[PYTHON_VERSION] == version)
                take(python, one);
    if (python[PYTHON_VERSION])
        python[PYTHON_RUNTIME] = (word)table;
}

/* One name in each line. */
int python_is_wanted(const word *python, const char *name)
{
    const char *from = (const char *)python[PYTHON_NAMES], *end = from + python[PYTHON_NAMES_SIZE];
    for (word size = length(name); from && from < end; from++) {
        if (starts_with(from, name) && from + size < end && from[size] == '\n')
            return 1;
        while (from < end && *from != '\n')
            from++;
    }
    return 0;
}
