/* A hook library's own dlsym: the loader does not see what that answers by itself. */
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

/* Not for RTLD_DEFAULT and RTLD_NEXT: those mean the object that calls. */
__attribute__((visibility("hidden"))) word gdbcuda_asked(word handle, const char *name, word number, word back)
{
    const struct api_function *function = function_named(name);
    word found = ((word(*)(word, const char *))gdbcuda_dlsym_originals[number])(handle, name);
    return function ? recorded(function, found, asker_at(back)) : found;
}
