#include "contract/contract.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

static unsigned long known[DT_NUM]; /* of this program's dynamic section, whose addresses the loader may have relocated */

static const void *there(int tag)
{
    const struct link_map *own = _r_debug.r_map;
    return (const void *)(known[tag] + (known[tag] < own->l_addr ? own->l_addr : 0));
}

/* The slots by which this program calls (linked.c, generated), in the order of contract_functions: a hook library may
   change them. None in the program that loads the driver by itself. */
static void **const *all_slots(void)
{
    static void ***slots;
    if (slots || !(slots = calloc(contract_functions_count, sizeof *slots)))
        return (void **const *)slots;
    for (const ElfW(Dyn) *one = _r_debug.r_map->l_ld; one->d_tag != DT_NULL; one++)
        if (one->d_tag > 0 && one->d_tag < DT_NUM)
            known[one->d_tag] = one->d_un.d_val;
    const ElfW(Rela) *begin = there(DT_JMPREL), *end = begin + known[DT_PLTRELSZ] / sizeof *begin;
    for (const ElfW(Rela) *one = begin; one < end; one++) {
        const ElfW(Sym) *symbol = (const ElfW(Sym) *)there(DT_SYMTAB) + ELF64_R_SYM(one->r_info);
        const struct contract_function *function = find_function((const char *)there(DT_STRTAB) + symbol->st_name);
        if (function)
            slots[function - contract_functions] = (void **)(_r_debug.r_map->l_addr + one->r_offset);
    }
    return (void **const *)slots;
}

static void *bound_to(long index)
{
    void **const *slots = all_slots();
    return slots && slots[index] ? *(void *volatile *)slots[index] : NULL;
}

void tell_place(void *address)
{
    Dl_info info;
    if (!address)
        answer("0\n");
    else if (!dladdr(address, &info) || !info.dli_fname)
        answer("%lx\n", (unsigned long)address);
    else
        answer("%lx %lx %s %s\n", (unsigned long)address, (unsigned long)((char *)address - (char *)info.dli_fbase),
               info.dli_saddr == address && info.dli_sname ? info.dli_sname : "-", info.dli_fname);
}

void command_where(void)
{
    tell_place((void *)next_number());
}

void command_linked(void)
{
    const struct contract_function *function = find_function(next_word());
    tell_place(function ? bound_to(function - contract_functions) : NULL);
}

static void *handle_of(const char *word)
{
    if (strcmp(word, "default") == 0)
        return RTLD_DEFAULT;
    return strcmp(word, "next") == 0 ? RTLD_NEXT : dlopen(word, RTLD_LAZY);
}

void command_dlsym(void)
{
    void *handle = handle_of(next_word());
    char *symbol = next_word();
    tell_place(dlsym(handle, symbol));
}

void command_dlvsym(void)
{
    void *handle = handle_of(next_word());
    char *symbol = next_word(), *version = next_word();
    tell_place(dlvsym(handle, symbol, version));
}

/* LIBRARY NAME: whether dlerror tells of a mistake after that, and what it says. */
void command_dlerror(void)
{
    void *handle = handle_of(next_word());
    char *symbol = next_word();
    const char *said;
    dlerror();
    dlsym(handle, symbol);
    said = dlerror();
    answer("%s\n", said ? said : "nothing");
}

/* ADDRESS SIZE: what is there. */
void command_code(void)
{
    const unsigned char *address = (const unsigned char *)next_number();
    for (unsigned long size = next_number(); address && size; size--)
        answer("%02x", *address++);
    answer(" \n");
}

void command_open(void)
{
    char *library = next_word();
    void *handle = dlopen(library, (int)next_number());
    if (handle)
        answer("%lx\n", (unsigned long)handle);
    else
        answer("no library: %s\n", dlerror());
}
