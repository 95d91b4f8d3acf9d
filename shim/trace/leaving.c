/* A program that takes another root or user (chroot, setuid) may have no way to the folder from then on. Where it has
 * recorded functions, its files are made before: the thread's ring, and the process's, which stays mapped. */
#include "files.h"

enum { CHROOT, SETUID, SETEUID, SETREUID, SETRESUID, ORIGINALS };

static word originals[ORIGINALS];

static word left(word kind, word a, word b, word c)
{
    if (this_trace()->slots && !recorder_state()[STATE_CONFINED] && trace_stays_in_reach(this_trace()))
        recorder_begins();
    return ((word(*)(word, word, word))originals[kind])(a, b, c);
}

static word at_chroot(word path)
{
    return left(CHROOT, path, 0, 0);
}

static word at_setuid(word user)
{
    return left(SETUID, user, 0, 0);
}

static word at_seteuid(word user)
{
    return left(SETEUID, user, 0, 0);
}

static word at_setreuid(word real, word effective)
{
    return left(SETREUID, real, effective, 0);
}

static word at_setresuid(word real, word effective, word saved)
{
    return left(SETRESUID, real, effective, saved);
}

static const struct {
    const char *name;
    word code;
} all[ORIGINALS] = {
    {"chroot", (word)at_chroot},     {"setuid", (word)at_setuid},       {"seteuid", (word)at_seteuid},
    {"setreuid", (word)at_setreuid}, {"setresuid", (word)at_setresuid},
};

word tells_of_leaving(const char *name, word original)
{
    for (word i = 0; i < ORIGINALS; i++)
        if (!text_order(name, all[i].name)) {
            __atomic_store_n(&originals[i], original, __ATOMIC_SEQ_CST);
            return all[i].code;
        }
    return original;
}
