/* What is compiled with -fno-plt calls through a slot that the loader has filled without asking anybody, and so does
 * who takes a function's address, in code or as the initial value of a variable. The slots of an object are led to what
 * records once the loader has filled them: in front of the program's first constructor, and when a later dlopen begins
 * or dlsym is asked: under the lock of the loader, which has filled those of all objects that are there by then. */
#include "symbols.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define MOST_WAITING 4096

/* Whose slots nobody has looked at. */
static struct waiting {
    const struct link_map *object;
    word entry; /* of `trace_entry` */
} waiting[MOST_WAITING];
static word waiting_count;

struct references {
    const ElfW(Rela) *begin, *end, *calls, *calls_end; /* the last two are slots of the PLT */
    const ElfW(Sym) *symbols;
    const char *names;
};

void slots_seen(const struct link_map *object, word entry)
{
    if (waiting_count < MOST_WAITING)
        waiting[waiting_count++] = (struct waiting){object, entry};
}

void slots_gone(word entry)
{
    for (word i = 0; i < waiting_count; i++)
        if (waiting[i].entry == entry)
            waiting[i--] = waiting[--waiting_count];
}

/* The loader has made addresses of them, where it could write there. */
static word address_in(const struct link_map *object, word found)
{
    return found < object->l_addr ? found + object->l_addr : found;
}

/* Those that name a symbol: relative ones come first. */
static struct references references_of(const struct link_map *object)
{
    word table = 0, size = 0, relative = 0, calls = 0, calls_size = 0, symbols = 0, names = 0;
    for (const ElfW(Dyn) *one = object->l_ld; one->d_tag != DT_NULL; one++) {
        word found = one->d_un.d_val;
        table = one->d_tag == DT_RELA ? address_in(object, found) : table;
        size = one->d_tag == DT_RELASZ ? found : size;
        calls = one->d_tag == DT_JMPREL ? address_in(object, found) : calls;
        calls_size = one->d_tag == DT_PLTRELSZ ? found : calls_size;
        relative = one->d_tag == DT_RELACOUNT ? found : relative;
        symbols = one->d_tag == DT_SYMTAB ? address_in(object, found) : symbols;
        names = one->d_tag == DT_STRTAB ? address_in(object, found) : names;
    }
    const ElfW(Rela) *begin = (const ElfW(Rela) *)table;
    const ElfW(Rela) *first_call = (const ElfW(Rela) *)calls;
    word count = begin && symbols && names ? size / sizeof *begin : 0;
    word calls_count = calls && symbols && names ? calls_size / sizeof *begin : 0;
    return (struct references){begin + (relative < count ? relative : count), begin + count, first_call,
                               first_call + calls_count, (const ElfW(Sym) *)symbols, (const char *)names};
}

/* Its page may be read-only by now, and whoever changed that would change it for the loader too. */
static int is_led(long memory, word *slot, word to)
{
    return !FAILED(memory) && system_call(SYS_pwrite64, (word)memory, (word)&to, sizeof to, (word)slot, 0, 0) == sizeof to;
}

/* The program may have put something else into a variable since. */
static int is_still_there(const struct link_map *object, const char *name, word value)
{
    word base = object_begins(asker_at(value));
    while (object->l_prev)
        object = object->l_prev;
    while (object && object->l_addr != base)
        object = object->l_next;
    const ElfW(Sym) *symbol = object && base ? symbol_of(object, name) : 0;
    return symbol && base + symbol->st_value == value;
}

static int is_not_led(const struct waiting *one, long memory, const char *name, int is_variable, word *slot)
{
    word original = *(volatile word *)slot;
    if (!original) /* weak, and nobody has it */
        return 0;
    if (is_variable && !is_still_there(one->object, name, original))
        return 0;
    word to = reference_leads_to(name, original, one->entry, asker_at(original));
    return to != original && !is_led(memory, slot, to);
}

static const char *name_in(const struct references *all, const ElfW(Rela) *reference)
{
    return all->names + all->symbols[ELF64_R_SYM(reference->r_info)].st_name;
}

static void note(const struct waiting *one, const ElfW(Rela) *reference, const char *name)
{
    const struct api_function *function = may_be_ours(name) ? function_named(name) : 0;
    if (function)
        slot_noted(one->entry, (word *)(one->object->l_addr + reference->r_offset), function->name);
}

static void lead(const struct waiting *one, long memory)
{
    const struct references all = references_of(one->object);
    int not_led = 0;
    for (const ElfW(Rela) *reference = all.calls; reference < all.calls_end; reference++)
        note(one, reference, name_in(&all, reference));
    for (const ElfW(Rela) *reference = all.begin; reference < all.end; reference++) {
        const char *name = name_in(&all, reference);
        word type = ELF64_R_TYPE(reference->r_info);
        int is_variable = type == R_X86_64_64 && !reference->r_addend;
        if ((type == R_X86_64_GLOB_DAT || is_variable) && may_be_ours(name))
            not_led += is_not_led(one, memory, name, is_variable, (word *)(one->object->l_addr + reference->r_offset));
        if (type == R_X86_64_GLOB_DAT)
            note(one, reference, name); /* as it has been led */
    }
    if (not_led)
        trace_entry(this_trace(), PAST_PLT, 0, 0, one->entry, "");
}

void slots_lead_to_recorded(void)
{
    if (!waiting_count || recorder_state()[STATE_CONFINED])
        return;
    long memory = system_call(SYS_openat, (word)AT_FDCWD, (word) "/proc/self/mem", O_RDWR | O_CLOEXEC, 0, 0, 0);
    while (waiting_count)
        lead(&waiting[--waiting_count], memory);
    if (!FAILED(memory))
        system_call(SYS_close, (word)memory, 0, 0, 0, 0, 0);
}
