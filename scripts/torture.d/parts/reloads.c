/* torture (late): The library comes and goes; meanwhile its addresses are memory of the program, which must stay as it is,
 * another library's, or nobody's, and the next time it may be loaded elsewhere. */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

enum { RELOAD_SIZE = 0x5000 };
static int reload_wrong;

static void reload_check(const unsigned char *bytes, unsigned char value)
{
    for (int i = 0; i < RELOAD_SIZE; i++)
        reload_wrong += bytes[i] != value;
}

static void *reload_events(unsigned char *bytes, unsigned char value, int dlopens)
{
    memset(bytes, value, RELOAD_SIZE);
    if (dlopens)
        dlclose(dlopen("libm.so.6", RTLD_NOW));
    reload_check(bytes, value);
    return bytes;
}

static unsigned char *reload_once(struct dice *dice, const char *file)
{
    struct link_map *map;
    void *handle = dlopen(file, RTLD_NOW);
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map))
        abort();
    unsigned char *base = (unsigned char *)map->l_addr;
    for (int i = 0; i < FUNCTIONS; i++)
        functions[i].call = (call_t)dlsym(handle, functions[i].name);
    for (int i = 0; i < 30; i++)
        invoke(dice, 1);
    dlclose(handle);
    return base;
}

static void part_reloads(struct dice *dice)
{
    const int protection = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    reload_wrong = 0;
    for (int i = 0; i < 10; i++) {
        unsigned char *base = reload_once(dice, library), value = i & 1 ? 0x55 : 0;
        void *mine = mmap(base, RELOAD_SIZE, i % 3 == 2 ? PROT_NONE : protection, flags, -1, 0);
        if (mine != base)
            continue;
        if (i % 3 != 2) {
            reload_events(base, value, (int)(roll(dice) & 1));
            reload_once(dice, library); /* elsewhere */
            reload_check(base, value);
        } else
            reload_once(dice, library);
        munmap(base, RELOAD_SIZE);
    }
    say("= reloads: %d bytes changed", reload_wrong);
}
