#include "contract/stepping.h"
#include "contract/stepped_code.h"

#if defined __x86_64__
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_STEPS = 1 << 20, TRACE = 1 << 8 };
enum { MOST_FRAMES = 32, MOST_LOOPS = 64, MOST_TURNS = 8, LONGEST_CALL = 7, LONGEST_LOOP = 4096 };

static bool (*look)(unsigned long, bool);
static pid_t stepped_thread; /* the thread */
static unsigned steps;
static bool is_on, is_entered, ends_at_return, is_after_another, holds_traps_open;
static unsigned long before, awaited; /* the instruction that was stepped over; one that is to be looked at */
static unsigned long returns[MOST_FRAMES]; /* of functions in the library, the innermost last */
static int frames;
static struct {
    unsigned long jump;
    unsigned count;
} turns[MOST_LOOPS];

static void trapped(int number, siginfo_t *info, void *context);

bool stepping_finds(const char *library)
{
    struct sigaction now;
    sigaction(SIGTRAP, NULL, &now);
    return stepped_code_is_found(library) && (now.sa_handler == SIG_DFL || now.sa_sigaction == trapped);
}

/* Where the function that was just entered returns to; the loader, which is to find it first, has two words more. */
static bool run_until_it_returns(const unsigned long *stack)
{
    for (int i = 0; i <= 2; i += 2)
        if (is_code(stack[i]))
            return put_breakpoint(stack[i]);
    return false;
}

static void note_frame(unsigned long at, const unsigned long *stack)
{
    if (frames && returns[frames - 1] == at)
        frames--;
    else if (*stack > before && *stack <= before + LONGEST_CALL && at != *stack && frames < MOST_FRAMES)
        returns[frames++] = *stack;
}

static bool has_turned_often(unsigned long jump)
{
    int i = 0;
    while (i < MOST_LOOPS - 1 && turns[i].jump && turns[i].jump != jump)
        i++;
    turns[i].jump = jump;
    return ++turns[i].count > MOST_TURNS;
}

/* What comes round and round has been looked at: it runs until it is behind its last jump, or returns. */
static bool run_out_of_loop(unsigned long at)
{
    unsigned length = at <= before && before - at < LONGEST_LOOP ? length_of_jump((const unsigned char *)before) : 0;
    if (!length || !frames || !has_turned_often(before))
        return false;
    unsigned long jump = before;
    before = 0;
    return put_breakpoint(jump + length) && put_breakpoint(returns[frames - 1]);
}

static bool looked(unsigned long at)
{
    bool is_after = is_after_another;
    is_after_another = locks((const unsigned char *)at);
    return look(at, is_after);
}

static bool goes_on(unsigned long at, const unsigned long *stack)
{
    if (!is_on || gettid() != stepped_thread || steps++ >= MOST_STEPS)
        return false;
    if (is_code(at))
        note_frame(at, stack);
    if (is_in_library(at)) {
        is_entered = true;
        if (run_out_of_loop(at) || !looked(at))
            return false;
        before = at;
        return true;
    }
    is_after_another = true;
    if (is_in_own_code(at)) {
        before = at;
        return !(is_entered && ends_at_return);
    }
    return !is_entered && ends_at_return ? true : !run_until_it_returns(stack) && !is_entered;
}

static void trapped(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned long at = (unsigned long)registers[REG_RIP];
    int error = errno; /* the program finds it as the driver left it */
    bool is_awaited = false;
    (void)number;
    if (info->si_code == SI_KERNEL && was_planted(at - 1)) {
        at--;
        registers[REG_RIP] = (greg_t)at;
        is_awaited = awaited == at && gettid() == stepped_thread;
        take_away();
        awaited = 0;
    }
    bool further = is_awaited ? (look(at, false), false) : goes_on(at, (const unsigned long *)registers[REG_RSP]);
    registers[REG_EFL] = further ? registers[REG_EFL] | TRACE : registers[REG_EFL] & ~(greg_t)TRACE;
    errno = error;
}

/* Who blocks all signals for a while would end with the next trap: the C library's functions are these two meanwhile. */
static int masked(int how, const sigset_t *wanted, sigset_t *old)
{
    enum { SIGCANCEL = 32, SIGSETXID = 33 }; /* which the C library keeps for itself */
    static const int kept[] = {SIGCANCEL, SIGSETXID, SIGTRAP};
    unsigned long mask = 0;
    if (wanted)
        memcpy(&mask, wanted, sizeof mask);
    for (int i = 0; i < (holds_traps_open ? 3 : 2); i++)
        mask &= how == SIG_UNBLOCK ? mask : ~(1ul << (kept[i] - 1));
    return (int)syscall(SYS_rt_sigprocmask, how, wanted ? &mask : NULL, old, sizeof mask);
}

int pthread_sigmask(int how, const sigset_t *wanted, sigset_t *old)
{
    int error = errno, failed = masked(how, wanted, old) ? errno : 0;
    errno = error;
    return failed;
}

int sigprocmask(int how, const sigset_t *wanted, sigset_t *old)
{
    return masked(how, wanted, old);
}

static void listen_to_traps(bool (*how)(unsigned long, bool))
{
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    is_on = holds_traps_open = true;
    look = how;
    stepped_thread = gettid();
    steps = 0;
    frames = 0;
    before = 0;
    memset(turns, 0, sizeof turns);
    is_entered = is_after_another = false;
    sigaction(SIGTRAP, &action, NULL);
}

void stepping_begins(const void *function, bool (*how)(unsigned long, bool))
{
    listen_to_traps(how);
    ends_at_return = function != NULL;
    if (!is_in_library((unsigned long)function) || !put_breakpoint((unsigned long)function))
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRACE);
}

void stepping_waits_at(unsigned long at, bool (*how)(unsigned long, bool))
{
    listen_to_traps(how);
    if (put_breakpoint(at))
        awaited = at;
}

void stepping_ends(void)
{
    is_on = false; /* the trap of the next instruction is on its way */
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(unsigned long long)TRACE);
    take_away();
    awaited = 0;
    holds_traps_open = false;
}
#else
bool stepping_finds(const char *library)
{
    (void)library;
    return false;
}

void stepping_begins(const void *function, bool (*how)(unsigned long, bool))
{
    (void)function, (void)how;
}

void stepping_waits_at(unsigned long at, bool (*how)(unsigned long, bool))
{
    (void)at, (void)how;
}

void stepping_ends(void) {}
#endif
