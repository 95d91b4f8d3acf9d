#include "contract/contract.h"

#include <dlfcn.h>
#include <string.h>

/* linked.c, generated, in the order of contract_functions; not in the program that loads the driver by itself. */
#if defined __x86_64__
extern const int linked_slots[] __attribute__((weak));

static void *bound_to(long index)
{
    const int *there = linked_slots;
    return there ? *(void *volatile *)((const char *)&there[index] + there[index]) : NULL;
}
#else
extern void *const linked_addresses[] __attribute__((weak));

static void *bound_to(long index)
{
    void *const *there = linked_addresses;
    return there ? there[index] : NULL;
}
#endif

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
