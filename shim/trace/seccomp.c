/* A program that lets few system calls through from now on (seccomp) would be ended for one of ours; where it allows no
 * look at the clock either, for that. */
#include "told.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

static word real_prctl, real_syscall;

void confine_from_now(int is_worth_a_file)
{
    trace_confined(this_trace(), is_worth_a_file);
    if (trace_can_tell(this_trace()))
        recorder_begins();
    __atomic_store_n(&recorder_state()[STATE_CONFINED], 1, __ATOMIC_SEQ_CST);
}

static void confine(int is_strict)
{
    if (!recorder_state()[STATE_CONFINED])
        confine_from_now(this_trace()->slots != 0);
    told_ends();
    if (is_strict)
        recorder_gives_up();
}

static void about_prctl(word option, word mode)
{
    if ((int)option == PR_SET_SECCOMP)
        confine(mode == SECCOMP_MODE_STRICT); /* in which rdtsc ends the thread as well */
    if ((int)option == PR_SET_TSC && mode == PR_TSC_SIGSEGV)
        recorder_gives_up();
}

static word at_prctl(word option, word a, word b, word c, word d)
{
    about_prctl(option, a);
    return ((word(*)(word, word, word, word, word))real_prctl)(option, a, b, c, d);
}

static word at_syscall(word number, word a, word b, word c, word d, word e, word f)
{
    if (number == SYS_seccomp)
        confine(a == SECCOMP_SET_MODE_STRICT);
    if (number == SYS_prctl)
        about_prctl(a, b);
    word *environment = number == SYS_execve ? &c : number == SYS_execveat ? &d : 0;
    struct telling how = environment ? telling_of((char **)*environment) : (struct telling){0, 0, 0};
    char *room[how.room + 1];
    if (environment)
        *environment = (word)told(how, room, (char **)*environment);
    return ((word(*)(word, word, word, word, word, word, word))real_syscall)(number, a, b, c, d, e, f);
}

word tells_of_seccomp(const char *name, word original)
{
    int is_prctl = !text_order(name, "prctl");
    if (!is_prctl && text_order(name, "syscall"))
        return original;
    __atomic_store_n(is_prctl ? &real_prctl : &real_syscall, original, __ATOMIC_SEQ_CST);
    return is_prctl ? (word)at_prctl : (word)at_syscall;
}
