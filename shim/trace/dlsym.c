/* A hook library's own dlsym or dlvsym: the loader does not see what that answers by itself. */
#include "trace.h"

extern char gdbcuda_dlsyms[]; /* code for each, as in dlsym.S */
word gdbcuda_dlsym_originals[MOST_DLSYMS] __attribute__((visibility("hidden")));

word answers_recorded(word original)
{
    for (word i = 0; i < MOST_DLSYMS; i++) {
        word expected = 0;
        if (gdbcuda_dlsym_originals[i] == original ||
            __atomic_compare_exchange_n(&gdbcuda_dlsym_originals[i], &expected, original, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST) ||
            expected == original)
            return (word)gdbcuda_dlsyms + i * DLSYM_SIZE;
    }
    return original;
}

#define RET 0xc3
#define CODE_PAGE 4096

/* What is no dlvsym passes on a version that nobody reads. Not for RTLD_DEFAULT and RTLD_NEXT. */
__attribute__((visibility("hidden"))) word gdbcuda_asked(word handle, const char *name, word version, word number, word back)
{
    const struct api_function *function = function_named(name);
    word found = ((word(*)(word, const char *, word))gdbcuda_dlsym_originals[number])(handle, name, version);
    return function ? recorded(function_answered(function, found), found, asker_at(back)) : found;
}

/* For those: a `ret` in the same page of code as that address; 0 where there is none, or nothing is recorded. */
__attribute__((visibility("hidden"))) word gdbcuda_way_back(word back, const char *name)
{
    const unsigned char *begin = (const unsigned char *)(back & -(word)CODE_PAGE), *here = (const unsigned char *)back;
    if (!function_named(name))
        return 0;
    for (const unsigned char *at = here; at < begin + CODE_PAGE; at++)
        if (*at == RET)
            return (word)at;
    for (const unsigned char *at = here; at-- > begin;)
        if (*at == RET)
            return (word)at;
    return 0;
}

__attribute__((visibility("hidden"))) word gdbcuda_answered(const char *name, word found, word back)
{
    return recorded(function_answered(function_named(name), found), found, asker_at(back));
}
