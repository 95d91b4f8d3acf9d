/* torture: Where a breakpoint is met that nobody takes away: a child that nobody traces says where, and dies of it. */
#include <dlfcn.h>
#include <ucontext.h>

enum { TRAP_BEFORE = 7, TRAP_BYTES = 12 };

static void say_trap(int number, siginfo_t *info, void *context)
{
    (void)info;
    const unsigned char *at = (const unsigned char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] - 1;
    char bytes[TRAP_BYTES * 3 + 1];
    for (int i = 0; i < TRAP_BYTES; i++)
        snprintf(bytes + (size_t)i * 3, 4, "%02x ", at[i - TRAP_BEFORE]);
    Dl_info object;
    if (!dladdr(at, &object))
        memset(&object, 0, sizeof object);
    say("# trapped %d %#lx %s+%#lx: %s", (int)getpid(), (word)at, object.dli_fname ? object.dli_fname : "?",
        (word)at - (word)object.dli_fbase, bytes);
    raise(number);
}

/* In children alone: gdbcuda watches less of a program that catches SIGTRAP, and programs mostly do not. */
static void tell_traps(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = say_trap;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
    sigaction(SIGTRAP, &action, NULL);
}
