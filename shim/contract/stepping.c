#include "contract/stepping.h"

#if defined __x86_64__
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_STEPS = 1 << 20, TRACE = 1 << 8 };
enum { BREAKPOINT = 0xcc, LOCK = 0xf0, XCHG = 0x87, REX = 0x40, IN_REGISTERS = 0xc0 }; /* bytes of instructions */
enum { PREFIX_OF_SIZE = 0x66, PREFIXES = 3, LIBRARY_RANGES = 4 };
enum { MOST_FRAMES = 32, MOST_LOOPS = 64, MOST_TURNS = 8, LONGEST_CALL = 7, LONGEST_LOOP = 4096 };

struct range {
    unsigned long start, end;
};
static struct range library_code[LIBRARY_RANGES], own_code;
static bool (*look)(unsigned long, bool);
static pid_t stepped_thread; /* the thread */
static unsigned steps;
static bool is_on, is_entered, ends_at_return, is_after_another, holds_traps_open;
static unsigned long before, awaited; /* the instruction that was stepped over; one that is to be looked at */
static struct breakpoint {
    unsigned long at, was_at; /* 0 for none */
    unsigned char replaced;
} planted[2];
static unsigned long returns[MOST_FRAMES]; /* of functions in the library, the innermost last */
static int frames;
static struct {
    unsigned long jump;
    unsigned count;
} turns[MOST_LOOPS];

static bool is_in(const struct range *range, unsigned long at)
{
    return range->start <= at && at < range->end;
}

static bool is_in_library(unsigned long at)
{
    bool found = false;
    for (int i = 0; i < LIBRARY_RANGES; i++)
        found |= is_in(&library_code[i], at);
    return found;
}

static void note_code(const char *line, const char *library)
{
    struct range found;
    char path[4096] = "", kind[8] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095[^\n]", &found.start, &found.end, kind, path) != 4 || kind[2] != 'x')
        return;
    if (is_in(&found, (unsigned long)note_code))
        own_code = found;
    for (int i = 0; strcmp(path, library) == 0 && i < LIBRARY_RANGES; i++)
        if (!library_code[i].end) {
            library_code[i] = found;
            break;
        }
}

static void trapped(int number, siginfo_t *info, void *context);

bool stepping_finds(const char *library)
{
    static char line[8192];
    struct sigaction now;
    FILE *maps = fopen("/proc/self/maps", "re");
    memset(library_code, 0, sizeof library_code);
    while (maps && fgets(line, sizeof line, maps))
        note_code(line, library);
    if (maps)
        fclose(maps);
    sigaction(SIGTRAP, NULL, &now);
    return library_code[0].end && (now.sa_handler == SIG_DFL || now.sa_sigaction == trapped);
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
    for (int i = 0; i < 2; i++) {
        if (planted[i].at)
            put_code(planted[i].at, planted[i].replaced);
        planted[i].at = 0;
    }
    awaited = 0;
}

static bool put_breakpoint(unsigned long at)
{
    struct breakpoint *one = &planted[planted[0].at != 0];
    one->replaced = *(unsigned char *)at;
    one->was_at = at;
    one->at = put_code(at, BREAKPOINT) ? at : 0;
    return one->at != 0;
}

/* Of any thread, which may find it taken away by now. */
static bool was_planted(unsigned long at)
{
    return at == planted[0].was_at || at == planted[1].was_at;
}

static bool is_code(unsigned long at)
{
    return is_in_library(at) || is_in(&own_code, at);
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

/* 0 where no jump is. */
static unsigned length_of_jump(const unsigned char *at)
{
    enum { SHORT = 0x70, TWO_BYTES = 0x0f, NEAR = 0x80, JMP_SHORT = 0xeb, JMP_NEAR = 0xe9 };
    if ((*at & 0xf0) == SHORT || *at == JMP_SHORT)
        return 2;
    return *at == JMP_NEAR ? 5 : *at == TWO_BYTES && (at[1] & 0xf0) == NEAR ? 6 : 0;
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

static bool locks(const unsigned char *at)
{
    for (int i = 0; i < PREFIXES && (*at == PREFIX_OF_SIZE || (*at & 0xf0) == REX); i++)
        at++;
    return *at == LOCK || ((*at | 1) == XCHG && at[1] < IN_REGISTERS);
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
    if (is_in(&own_code, at)) {
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
    holds_traps_open = false;
}

/* What /proc says of a thread: 0 where it is not there. */
static size_t said_of(pid_t thread, const char *file, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)thread, file);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t found = from >= 0 ? read(from, text, size - 1) : 0;
    if (from >= 0)
        close(from);
    text[found > 0 ? found : 0] = 0;
    return found > 0 ? (size_t)found : 0;
}

static bool is_asleep(pid_t thread)
{
    char text[512];
    const char *name_end = said_of(thread, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] && name_end[2] == 'S';
}

/* In nanoseconds. */
static unsigned long long has_run(pid_t thread)
{
    char text[128];
    unsigned long long found = 0;
    return said_of(thread, "schedstat", text, sizeof text) && sscanf(text, "%llu", &found) == 1 ? found : 0;
}

static struct timespec soon(void)
{
    enum { A_WHILE = 200000, SECOND = 1000000000 }; /* nanoseconds */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += A_WHILE;
    until.tv_sec += until.tv_nsec / SECOND;
    until.tv_nsec %= SECOND;
    return until;
}

bool stepping_gets(sem_t *answer, pid_t from)
{
    enum { ASLEEP = 3, TURNING = 20000000, KNOWN = 1000000 }; /* looks, nanoseconds */
    static int turned;
    unsigned long long begin = has_run(from);
    for (int asleep = 0; asleep < ASLEEP;) {
        struct timespec until = soon();
        if (sem_timedwait(answer, &until) == 0)
            return true;
        asleep = is_asleep(from) ? asleep + 1 : 0;
        if (has_run(from) - begin > (turned > ASLEEP ? KNOWN : TURNING)) {
            turned++;
            return false;
        }
    }
    return false;
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

bool stepping_gets(sem_t *answer, pid_t from)
{
    (void)from;
    return sem_wait(answer) == 0;
}
#endif
