#include "contract/contract.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static bool is_copy;
static void begin_case(void);

/* The copy answers with its number; when it has ended, the first process says how. */
void command_fork(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        is_copy = true;
        begin_case();
        answer("%x\n", (unsigned)getpid());
    } else if (child < 0 || waitpid(child, &status, 0) < 0) {
        answer("no copy\n");
    } else if (WIFSIGNALED(status)) {
        answer("signal %x\n", (unsigned)WTERMSIG(status));
    } else {
        answer("exit %x\n", (unsigned)WEXITSTATUS(status));
    }
}

void command_watch(void)
{
    begin_case();
    answer("ok\n");
}

void command_end(void)
{
    if (is_copy)
        _exit(0);
    exit(0);
}

static unsigned long instruction(const ucontext_t *context)
{
#if defined __x86_64__
    return (unsigned long)context->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return (unsigned long)context->uc_mcontext.pc;
#endif
}

static unsigned long stack_pointer(const ucontext_t *context)
{
#if defined __x86_64__
    return (unsigned long)context->uc_mcontext.gregs[REG_RSP];
#elif defined __aarch64__
    return (unsigned long)context->uc_mcontext.sp;
#endif
}

/* Who calls abort: the frames above it are the C library's. */
static unsigned long who_aborts(unsigned long at)
{
    enum { FRAMES = 64 };
    void *frames[FRAMES];
    Dl_info here, place;
    signal(SIGSEGV, SIG_DFL);
    if (!dladdr((void *)at, &here))
        return at;
    bool is_there = false; /* the first frames are of this handler */
    for (int i = 0, count = backtrace(frames, FRAMES); i < count; i++) {
        bool is_of_libc = dladdr(frames[i], &place) && place.dli_fbase == here.dli_fbase;
        if (is_there && !is_of_libc)
            return (unsigned long)frames[i] - 1;
        is_there |= is_of_libc;
    }
    return at;
}

/* An instruction that wants 16 bytes aligned and has found a place that is not, most often on the stack. */
static bool is_unaligned(int number, const siginfo_t *info, const unsigned char *at)
{
#if defined __x86_64__
    if (number != SIGSEGV || info->si_code != SI_KERNEL)
        return false;
    at += *at == 0x66;
    at += (*at & 0xf0) == 0x40;
    return at[0] == 0x0f && (at[1] == 0x28 || at[1] == 0x29 || at[1] == 0x6f || at[1] == 0x7f);
#else
    (void)number, (void)info, (void)at;
    return false;
#endif
}

static void tell(int number, siginfo_t *info, void *context)
{
    enum { NEAR = 1 << 16 };
    Dl_info place = {0};
    unsigned long at = instruction(context), distance = (unsigned long)info->si_addr - stack_pointer(context) + NEAR;
    if (number == SIGABRT)
        at = who_aborts(at);
    bool is_code = dladdr((void *)at, &place);
    bool is_full = number == SIGSEGV && info->si_code > 0 && distance < 2 * NEAR;
    const char *why = is_full ? "stack" : is_code && is_unaligned(number, info, (void *)at) ? "unaligned" : "-";
    answer("crash %x %s %lx %lx %s %s\n", (unsigned)number, why, (unsigned long)info->si_addr,
           at - (unsigned long)place.dli_fbase, place.dli_sname ? place.dli_sname : "-",
           place.dli_fname ? place.dli_fname : "-");
    signal(number, SIG_DFL);
    raise(number);
}

/* Where it is said is a stack of its own: a recursion has used up the other one. */
static void tell_crashes(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaltstack(&stack, NULL);
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

/* Only from here on it is written down what reaches the stand-in: the process that copies are made of has threads of the
   hook library, whose calls are in no case. */
static void begin_case(void)
{
    const char *seen = getenv("GDBCUDA_CONTRACT_SEEN");
    tell_crashes();
    if (seen)
        setenv("GDBCUDA_STANDIN_SEEN", seen, 1);
}
