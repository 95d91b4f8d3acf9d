#include "symbols.h"

const struct api_function *function_named(const char *name)
{
    word low = 0, high = api_functions_count;
    while (low < high) {
        word middle = (low + high) / 2;
        int order = text_order(name, api_functions[middle].name);
        if (!order)
            return &api_functions[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

static int is_exported(const struct link_map *object, const struct api_function *function, word address)
{
    const ElfW(Sym) *symbol = symbol_of(object, function->name);
    return symbol && object->l_addr + symbol->st_value == address;
}

static const char *base_of(const struct api_function *function)
{
    for (word i = 0; i < api_answers_count; i++)
        if (&api_functions[api_answers[i].function] == function)
            return api_answers[i].base;
    return "";
}

/* Whoever answers may not look at the version that was asked for, and the caller's arguments are those of its function. */
const struct api_function *function_answered(const struct api_function *asked, word address)
{
    word there = asker_at(address);
    struct link_map object = {.l_addr = object_begins(there), .l_ld = (ElfW(Dyn) *)object_dynamic(there)};
    if (!object.l_ld || is_exported(&object, asked, address))
        return asked;
    const char *base = base_of(asked);
    for (word i = 0; i < api_answers_count; i++) {
        const struct api_function *function = &api_functions[api_answers[i].function];
        if (!text_order(api_answers[i].base, base) && is_exported(&object, function, address))
            return function;
    }
    return asked;
}
