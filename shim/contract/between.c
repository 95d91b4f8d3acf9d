/* Another thread makes a call of its own between each two instructions of a hook library in this thread's call. So it does
 * not take luck to see that both use the same memory. Instructions of the hook library alone are stepped through: when it
 * calls somebody, a breakpoint lies where that returns to. */
#include "contract/contract.h"

#if defined __x86_64__
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_CALLS = 300, MOST_STEPS = 4000, TRACE = 1 << 8, BREAKPOINT = 0xcc };
enum { A_WHILE = 2000000 /* ns */, SECOND = 1000000000, WAITING = 2, LOOKS = 100 };

struct range {
    unsigned long start, end;
};
static struct range hook, own;
static void (*other_call)(void), (*other_first)(void);
static int stepped; /* the thread */
static char other_state[64]; /* the file that has it */
static sem_t asked, done;
static unsigned calls, answered_calls, steps;
static bool is_entered, is_ready;
static unsigned long planted; /* where the breakpoint is, 0 for none */
static unsigned char replaced;
static struct sigaction before;

static bool is_in(const struct range *range, unsigned long at)
{
    return range->start <= at && at < range->end;
}

/* The first is the program itself. */
static int note_code(struct dl_phdr_info *info, size_t size, void *path)
{
    struct range *found = own.end ? &hook : &own;
    (void)size;
    if (found == &hook && strcmp(info->dlpi_name, path) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            found->start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            found->end = found->start + info->dlpi_phdr[i].p_memsz;
        }
    return found == &hook;
}

/* The kernel writes where the program may not. */
static bool put_code(unsigned long at, unsigned char byte)
{
    int memory = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
    bool is_put = memory >= 0 && pwrite(memory, &byte, 1, (off_t)at) == 1;
    if (memory >= 0)
        close(memory);
    return is_put;
}

static void take_away(void)
{
    if (planted)
        put_code(planted, replaced);
    planted = 0;
}

/* Where the function that was just entered returns to; the loader, which is to find it first, has two words more. */
static unsigned long return_address(const unsigned long *stack)
{
    for (int i = 0; i <= 2; i += 2)
        if (is_in(&hook, stack[i]) || is_in(&own, stack[i]))
            return stack[i];
    return 0;
}

static bool put_breakpoint(unsigned long at)
{
    replaced = *(unsigned char *)at;
    planted = put_code(at, BREAKPOINT) ? at : 0;
    return planted != 0;
}

static bool run_until_it_returns(const unsigned long *stack)
{
    unsigned long at = return_address(stack);
    return at && put_breakpoint(at);
}

/* The other thread waits, most likely for what the stepped one has. */
static bool is_waiting(void)
{
    char text[256] = "";
    int file = open(other_state, O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    const char *name_end = size > 0 ? strrchr(text, ')') : NULL;
    if (file >= 0)
        close(file);
    return name_end && name_end[2] == 'S';
}

static bool has_answered(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += A_WHILE;
    until.tv_sec += until.tv_nsec / SECOND;
    until.tv_nsec %= SECOND;
    if (sem_timedwait(&done, &until) == 0)
        answered_calls++;
    return answered_calls == calls;
}

/* While it has not answered nothing more is asked of it: the stepped thread goes on alone. */
static void let_the_other_call(void)
{
    if (answered_calls < calls && sem_trywait(&done) == 0)
        answered_calls++;
    if (answered_calls < calls)
        return;
    calls++;
    sem_post(&asked);
    for (int waiting = 0, looks = 0; waiting < WAITING && looks < LOOKS && !has_answered(); looks++)
        waiting = is_waiting() ? waiting + 1 : 0;
}

static void step(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned long at = (unsigned long)registers[REG_RIP];
    int error = errno; /* the program finds it as the driver left it */
    (void)number, (void)info;
    if (planted && at - 1 == planted) {
        at = planted;
        registers[REG_RIP] = (greg_t)at;
        take_away();
    }
    bool goes_on = gettid() == stepped && calls < MOST_CALLS && steps++ < MOST_STEPS && !(is_entered && is_in(&own, at));
    if (goes_on && is_in(&hook, at)) {
        is_entered = true;
        let_the_other_call();
    } else if (goes_on && is_entered) {
        goes_on = !run_until_it_returns((const unsigned long *)registers[REG_RSP]);
    }
    registers[REG_EFL] = goes_on ? registers[REG_EFL] | TRACE : registers[REG_EFL] & ~(greg_t)TRACE;
    errno = error;
}

static void *call_when_asked(void *unused)
{
    snprintf(other_state, sizeof other_state, "/proc/self/task/%d/stat", (int)gettid());
    other_first();
    sem_post(&done);
    while (sem_wait(&asked) == 0) {
        other_call();
        sem_post(&done);
    }
    return unused;
}

static void wait_for_the_other(void)
{
    while (sem_wait(&done))
        ;
}

/* Who blocks all signals for a while would end with the next trap: the C library's functions are these two meanwhile. */
static int masked(int how, const sigset_t *wanted, sigset_t *old)
{
    enum { SIGCANCEL = 32, SIGSETXID = 33 }; /* which the C library keeps for itself */
    static const int kept[] = {SIGCANCEL, SIGSETXID, SIGTRAP};
    unsigned long mask = 0;
    if (wanted)
        memcpy(&mask, wanted, sizeof mask);
    for (int i = 0; i < (is_ready ? 3 : 2); i++)
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

/* A hook library that has traps of its own is left alone. */
bool between_begin(const char *path, void (*first)(void), void (*call)(void))
{
    pthread_t thread;
    dl_iterate_phdr(note_code, (void *)path);
    sigaction(SIGTRAP, NULL, &before);
    if (!hook.end || before.sa_handler != SIG_DFL)
        return false;
    other_first = first;
    other_call = call;
    sem_init(&asked, 0, 0);
    sem_init(&done, 0, 0);
    if (pthread_create(&thread, NULL, call_when_asked, NULL))
        return false;
    wait_for_the_other();
    is_ready = true;
    return true;
}

void between_step(const void *function)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (!is_ready)
        return;
    stepped = gettid();
    sigaction(SIGTRAP, &action, NULL);
    if (!is_in(&hook, (unsigned long)function) || !put_breakpoint((unsigned long)function))
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRACE);
}

void between_end(void)
{
    if (!is_ready)
        return;
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(unsigned long long)TRACE);
    take_away();
    sigaction(SIGTRAP, &before, NULL);
    for (; answered_calls < calls; answered_calls++)
        wait_for_the_other();
    is_ready = false;
}
#else
bool between_begin(const char *path, void (*first)(void), void (*call)(void))
{
    (void)path, (void)first, (void)call;
    return false;
}

void between_step(const void *function)
{
    (void)function;
}

void between_end(void) {}
#endif
