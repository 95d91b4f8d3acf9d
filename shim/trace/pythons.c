/* Is an object that is loaded a CPython, and how does that one lay out its structs? Its file is only mapped yet. */
#include "python.h"

#include <elf.h>
#include <link.h>

#define MOST_CHAIN 100000

struct tables {
    const ElfW(Sym) *symbols;
    const char *names;
    const unsigned *hash;
};

static word table_at(const struct link_map *object, word value)
{
    return value < object->l_addr ? value + object->l_addr : value;
}

static struct tables tables_of(const struct link_map *object)
{
    struct tables found = {0, 0, 0};
    for (const ElfW(Dyn) *one = object->l_ld; one->d_tag != DT_NULL; one++) {
        word at = table_at(object, one->d_un.d_ptr);
        if (one->d_tag == DT_SYMTAB)
            found.symbols = (const void *)at;
        if (one->d_tag == DT_STRTAB)
            found.names = (const void *)at;
        if (one->d_tag == DT_GNU_HASH)
            found.hash = (const void *)at;
    }
    return found;
}

static unsigned hash_of(const char *name)
{
    unsigned found = 5381;
    for (; *name; name++)
        found = found * 33 + (unsigned char)*name;
    return found;
}

/* (gABI and the GNU hash sections: counts of buckets, first symbol, words of the filter, shift; filter, buckets, chains) */
static const ElfW(Sym) *symbol_of(const struct tables *tables, const char *name)
{
    const unsigned *hash = tables->hash, *buckets = hash + 4 + 2 * hash[2], *chains = buckets + hash[0];
    unsigned wanted = hash_of(name), index = hash[0] ? buckets[wanted % hash[0]] : 0;
    for (unsigned i = 0; index >= hash[1] && index && i < MOST_CHAIN; i++, index++) {
        unsigned found = chains[index - hash[1]];
        const ElfW(Sym) *symbol = tables->symbols + index;
        if ((found | 1) == (wanted | 1) && symbol->st_shndx && !text_order(tables->names + symbol->st_name, name))
            return symbol;
        if (found & 1)
            break;
    }
    return 0;
}

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

static word version_of(const struct link_map *object, const struct tables *tables, word size)
{
    const ElfW(Sym) *number = symbol_of(tables, "Py_Version");
    if (number)
        return *(const unsigned *)(object->l_addr + number->st_value) >> 16;
    return size == 656 ? 0x309 : size == 672 ? 0x30a : 0; /* bytes of _PyRuntime */
}

void python_noticed(const struct link_map *object, word *python)
{
    struct tables tables = {0, 0, 0};
    if (!python[PYTHON_NAMES] || python[PYTHON_RUNTIME] || !may_be_python(object))
        return;
    tables = tables_of(object);
    const ElfW(Sym) *runtime = tables.symbols && tables.names && tables.hash ? symbol_of(&tables, "_PyRuntime") : 0;
    if (!runtime)
        return;
    const word *table = (const word *)(object->l_addr + runtime->st_value);
    word version = version_of(object, &tables, runtime->st_size);
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
