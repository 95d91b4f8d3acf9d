#include "symbols.h"

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
static const ElfW(Sym) *found_in(const struct tables *tables, const char *name)
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

const ElfW(Sym) *symbol_of(const struct link_map *object, const char *name)
{
    struct tables tables = tables_of(object);
    return tables.symbols && tables.names && tables.hash ? found_in(&tables, name) : 0;
}
