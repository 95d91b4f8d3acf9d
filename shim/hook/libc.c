/* The dlsym and dlvsym of libc, and the next ones in search order, which may be another hook library's.

   This library exports both names, so it cannot call either: the call would come back to itself. dlvsym is read out
   of libc's symbol table; dlsym is then asked for as dlvsym(RTLD_NEXT, "dlsym", VERSION), the way hook libraries do. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "hook.h"

/* The parts of an object's dynamic section that a lookup needs. */
struct symbols {
    ElfW(Addr) base;
    const ElfW(Sym) *table;
    const char *strings;
    const uint32_t *hash; /* DT_GNU_HASH: buckets, first symbol, bloom words, bloom shift; bloom; buckets; chains */
};

/* Most architectures relocate the dynamic section in place, some leave it as it is in the file. */
static void *dynamic_address(ElfW(Addr) base, ElfW(Addr) value)
{
    return (void *)(value < base ? base + value : value);
}

static struct symbols read_dynamic(ElfW(Addr) base, const ElfW(Dyn) *dynamic)
{
    struct symbols symbols = {.base = base};
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        void *address = dynamic_address(base, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_SYMTAB)
            symbols.table = address;
        else if (dynamic->d_tag == DT_STRTAB)
            symbols.strings = address;
        else if (dynamic->d_tag == DT_GNU_HASH)
            symbols.hash = address;
    }
    return symbols;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    while (*name)
        hash = hash * 33 + (unsigned char)*name++;
    return hash;
}

static void *lookup(const struct symbols *symbols, const char *name)
{
    if (!symbols->hash || !symbols->table || !symbols->strings)
        return NULL;
    uint32_t count = symbols->hash[0], first = symbols->hash[1], bloom_words = symbols->hash[2];
    const uint32_t *buckets = symbols->hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chains = buckets + count;
    uint32_t hash = gnu_hash(name), index = buckets[hash % count];
    for (; index >= first; index++) {
        const ElfW(Sym) *symbol = &symbols->table[index];
        if (symbol->st_shndx != SHN_UNDEF && strcmp(symbols->strings + symbol->st_name, name) == 0)
            return (void *)(symbols->base + symbol->st_value);
        if (chains[index - first] & 1)
            break;
    }
    return NULL;
}

/* By name: another hook library in front may export a dlvsym as well. libdl.so.2 has it before glibc 2.34. */
static bool is_libc(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, "libc.so.6") == 0 || strcmp(name, "libdl.so.2") == 0;
}

static int find_in_libc(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (int i = 0; is_libc(info->dlpi_name) && i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        struct symbols symbols =
            read_dynamic(info->dlpi_addr, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
        *(void **)found = lookup(&symbols, "dlvsym");
    }
    return *(void **)found != NULL;
}

static void *find_dlvsym(void)
{
    void *found = NULL;
    dl_iterate_phdr(find_in_libc, &found);
    return found;
}

static void *find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17" /* aarch64 before 2.34 */, "GLIBC_2.2.5"};
    void *found = NULL;
    for (size_t i = 0; i < sizeof versions / sizeof *versions && !found; i++)
        found = libc_dlvsym()(RTLD_NEXT, "dlsym", versions[i]);
    dlerror();
    return found;
}

/* Without a version, as hook libraries define theirs without one; with a version only libc's would be seen. */
static void *find_next_dlsym(void)
{
    void *found = quiet_dlsym(RTLD_NEXT, "dlsym");
    return found ? found : (void *)libc_dlsym();
}

static void *find_next_dlvsym(void)
{
    void *found = quiet_dlsym(RTLD_NEXT, "dlvsym");
    return found ? found : (void *)libc_dlvsym();
}

/* Two threads that come here at once find the same. */
static void *find_once(void **known, void *(*find)(void))
{
    void *found = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (!found) {
        found = find();
        __atomic_store_n(known, found, __ATOMIC_RELEASE);
    }
    return found;
}

dlvsym_function libc_dlvsym(void)
{
    static void *known;
    return (dlvsym_function)find_once(&known, find_dlvsym);
}

dlsym_function libc_dlsym(void)
{
    static void *known;
    return (dlsym_function)find_once(&known, find_dlsym);
}

dlsym_function next_dlsym(void)
{
    static void *known;
    return (dlsym_function)find_once(&known, find_next_dlsym);
}

dlvsym_function next_dlvsym(void)
{
    static void *known;
    return (dlvsym_function)find_once(&known, find_next_dlvsym);
}

void *quiet_dlsym(void *handle, const char *symbol)
{
    void *found = libc_dlsym()(handle, symbol);
    if (!found)
        dlerror();
    return found;
}
