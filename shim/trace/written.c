/* What a hook library writes itself: its own functions into slots of others, or jumps over the first bytes of functions.
 * Nobody is asked there, and calls pass us by: the log says so. It is looked for under the lock of the loader (dlopen,
 * dlclose, dlsym, the end of the program), and at the first call, among what is never unloaded. */
#include "files.h"
#include "symbols.h"

#include <sys/uio.h>

#define SELDOM (1ul << 28) /* ticks */
#define INT3 0xcc          /* a debugger's */

struct written gdbcuda_written_v1 __attribute__((visibility("protected")));

static struct link_map map_of(word object)
{
    return (struct link_map){.l_addr = object_begins(object), .l_ld = (ElfW(Dyn) *)object_dynamic(object)};
}

typedef word __attribute__((aligned(1), may_alias)) anywhere;
typedef int __attribute__((aligned(1), may_alias)) near_by;

static int is_copied(void *to, word from, word size)
{
    struct iovec here = {to, size}, there = {(void *)from, size};
    return CALL(process_vm_readv, CALL(getpid, 0), &here, 1, &there, 1, 0) == (long)size;
}

static word end_of(word begin)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) one;
    word end = 0;
    if (!begin || !is_copied(&header, begin, sizeof header) || *(unsigned *)header.e_ident != *(const unsigned *)ELFMAG)
        return 0;
    for (word i = 0; i < header.e_phnum; i++) {
        if (!is_copied(&one, begin + header.e_phoff + i * sizeof one, sizeof one))
            return 0;
        if (one.p_type == PT_LOAD && one.p_vaddr + one.p_memsz > end)
            end = one.p_vaddr + one.p_memsz;
    }
    return begin + end;
}

/* The object that an address is in; 0 where it is in none, or that is not known. */
static word object_around(struct written *written, word address)
{
    word object = asker_at(address);
    if (object && !written->ends[object - 1])
        written->ends[object - 1] = end_of(object_begins(object));
    return object && address < written->ends[object - 1] ? object : 0;
}

static void tell(word kind, word object, word address, const char *name)
{
    struct trace *trace = this_trace();
    for (word i = 0; i < trace->entries_count && i < MOST_ENTRIES; i++) {
        const word *entry = trace->entries[i];
        if (entry[ENTRY_KIND] == kind && entry[ENTRY_OBJECT] == object && !text_order((const char *)(entry + ENTRY_TEXT), name))
            return;
    }
    trace_entry(trace, kind, 0, address, object, name);
}

void no_slot_is_left(word object, const char *name)
{
    tell(NO_SLOT_LEFT, object, 0, name);
}

/* The loader is still to be asked, or has been led to the recorder. */
static int is_own(word object, word value)
{
    return !value || asker_at(value) == object || recorded_at(value) != value;
}

void slot_noted(word object, word *at, const char *name)
{
    struct written *written = what_is_written();
    word value = *(volatile word *)at, seen = is_own(object, value) ? value : 0;
    if (written->slots_count < MOST_API_SLOTS)
        written->slots[written->slots_count++] = (struct api_slot){at, name, object, seen};
}

void slots_unloaded(word object)
{
    struct written *written = what_is_written();
    for (word i = 0; i < written->slots_count; i++)
        if (written->slots[i].object == object)
            written->slots[i--] = written->slots[--written->slots_count];
}

void entry_noted(word slot, word original)
{
    struct written *written = what_is_written();
    word object = recorder_state()[STATE_CONFINED] ? 0 : object_around(written, original);
    if (object && is_copied(written->entries[slot].bytes, original, sizeof written->entries[slot].bytes))
        __atomic_store_n(&written->entries[slot].object, object, __ATOMIC_RELEASE);
}

void all_are_to_stay(void)
{
    struct written *written = what_is_written();
    written->staying_slots = written->slots_count;
    written->staying_objects = this_trace()->entries_count;
}

static int is_exported_by(word object, const char *name, word address)
{
    struct link_map map = map_of(object);
    const ElfW(Sym) *symbol = map.l_ld ? symbol_of(&map, name) : 0;
    return symbol && map.l_addr + symbol->st_value == address;
}

/* What an object exports the loader has put there where it asked nobody, or where no slot of the recorder is left. */
static int may_be_of_loader(const struct api_slot *slot, word object, word value, word was)
{
    return (!was || this_trace()->slots > MOST_FUNCTIONS) && is_exported_by(object, slot->name, value);
}

static int is_recorded(word object, const char *name)
{
    const struct trace *trace = this_trace();
    return trace_is_wanted(trace, object, name) && (!trace->filters || filter_of(trace, name));
}

static void look_at_slot(struct written *written, struct api_slot *slot, word objects)
{
    word value = *(volatile word *)slot->at, was = slot->seen, object = value == was ? 0 : asker_at(value);
    if (value == was || object > objects) /* another thread may be unloading it */
        return;
    slot->seen = value;
    if (is_own(slot->object, value) || may_be_of_loader(slot, object, value, was))
        return;
    if (object_around(written, value) && is_recorded(object, slot->name))
        tell(A_WRITTEN_SLOT, object, value, slot->name);
}

/* Where a jump leads as who overwrites an entry writes it, with the address behind it or in it; 0 for other code. */
static word jump_leads_to(const unsigned char *code)
{
    const anywhere *inside = (const anywhere *)(code + 2), *behind = (const anywhere *)(code + 6);
    int offset = *(const near_by *)(code + 1), pointer = *(const near_by *)(code + 2);
    if (code[0] == 0xe9)
        return (word)code + 5 + (word)(long)offset;
    if (code[0] == 0xff && code[1] == 0x25 && !pointer)
        return *behind;
    int is_loaded = (code[0] == 0x48 && code[1] == 0xb8 && code[10] == 0xff && code[11] == 0xe0) ||
                    (code[0] == 0x49 && code[1] == 0xbb && code[10] == 0x41 && code[11] == 0xff && code[12] == 0xe3);
    return is_loaded ? *inside : 0;
}

static int are_others(const void *were, const void *are)
{
    const unsigned char *before = were, *now = are;
    for (word i = 0; i < sizeof door_begins; i++)
        if (before[i] != now[i])
            return now[i] != INT3;
    return 0;
}

/* It was there before anybody called the function, or has come since. */
static int is_written_over(struct written *written, word slot)
{
    const struct written_entry *entry = &written->entries[slot];
    const unsigned char *code = (const unsigned char *)original_of(slot);
    word leads_to = jump_leads_to(code);
    return are_others(entry->bytes, code) ||
           (leads_to && object_around(written, leads_to) != entry->object);
}

static void look_at_entry(struct written *written, word slot)
{
    const char *name = this_trace()->names[slot];
    if (are_others(door_begins, (const void *)handed_out_for(slot)) || is_written_over(written, slot))
        tell(A_WRITTEN_ENTRY, written->entries[slot].object, original_of(slot), name);
}

static int is_loaded(word object)
{
    return object && !this_trace()->entries[object - 1][ENTRY_NUMBER];
}

static void look(word slots, word objects)
{
    struct written *written = what_is_written();
    const struct trace *trace = this_trace();
    if (recorder_state()[STATE_CONFINED])
        return;
    for (word i = 0; i < slots; i++)
        look_at_slot(written, &written->slots[i], objects);
    for (word i = 0; i < trace->slots && i < MOST_FUNCTIONS; i++) {
        word object = __atomic_load_n(&written->entries[i].object, __ATOMIC_ACQUIRE);
        if (is_loaded(object) && object <= objects)
            look_at_entry(written, i);
    }
    written->looked = ticks_now();
}

void look_what_is_written(void)
{
    look(what_is_written()->slots_count, MOST_ENTRIES);
}

void look_seldom_what_is_written(void)
{
    if (ticks_now() - what_is_written()->looked > SELDOM)
        look_what_is_written();
}

void look_what_is_written_first(void)
{
    struct written *written = what_is_written();
    if (!__atomic_exchange_n(&written->is_begun, 1, __ATOMIC_SEQ_CST))
        look(written->staying_slots, written->staying_objects);
}
