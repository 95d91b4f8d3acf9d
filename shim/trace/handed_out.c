/* Functions that hand out functions, in another way than through the loader. */
#include "trace.h"

#define PER_THREAD 2 /* of the flags */
#define NOWHERE 255

struct hands_out {
    const char *name;
    unsigned char version, flags; /* the numbers of the arguments; the name is the first, the answer is behind the second */
};

static const struct hands_out all[] = {
    {"cuGetProcAddress", 2, 3},
    {"cuGetProcAddress_v2", 2, 3},
    {"cudaGetDriverEntryPoint", NOWHERE, 2},
    {"cudaGetDriverEntryPoint_ptsz", NOWHERE, 2},
    {"cudaGetDriverEntryPointByVersion", 2, 3},
    {"cudaGetDriverEntryPointByVersion_ptsz", 2, 3},
};

/* The newest that is not newer than asked for; of what is newer than the table nobody knows the arguments. */
static const struct api_function *answer(const char *base, word version, int per_thread)
{
    const struct api_function *found = 0;
    int knows_threads = 0;
    for (word i = 0; i < api_answers_count; i++)
        if (!text_order(api_answers[i].base, base))
            knows_threads |= api_answers[i].per_thread;
    for (word i = 0; version <= api_version && i < api_answers_count; i++) {
        const struct api_answer *one = &api_answers[i];
        if (!text_order(one->base, base) && one->version <= version && one->per_thread == (per_thread && knows_threads))
            found = &api_functions[one->function];
    }
    return found;
}

/* Before it is noted what was handed out, that is made what it would be without us: who passes a request on may have
 * been given what records by us. */
static void replace(const struct hands_out *how, const word *record, word is_noted)
{
    const word *arguments = record + FRONT_REGISTERS;
    const char *name = (const char *)arguments[0];
    word *to = (word *)arguments[1], original = to && !is_noted ? recorded_at(*to) : 0;
    if (original && original != *to)
        *to = original;
    if (!is_noted)
        return;
    word version = how->version == NOWHERE ? api_version : (unsigned)arguments[how->version];
    if (!name || !to)
        return;
    const struct api_function *function = answer(name, version, (arguments[how->flags] & PER_THREAD) != 0);
    if (function && is_code(*to))
        *to = recorded(function_answered(function, *to), *to, asker_at(record[FRONT_BACK]));
}

#define EACH(number)                                                                  \
    static void after_##number(const word *record, word is_noted)                     \
    {                                                                                 \
        replace(&all[number], record, is_noted);                                      \
    }
EACH(0) EACH(1) EACH(2) EACH(3) EACH(4) EACH(5)

word handed_out_by(const char *name)
{
    static void (*const after[])(const word *, word) = {after_0, after_1, after_2, after_3, after_4, after_5};
    for (word i = 0; i < sizeof all / sizeof *all; i++)
        if (!text_order(all[i].name, name))
            return (word)after[i];
    return 0;
}
