/* What every program of the run is made with: dice, counted and checked calls, lines of output.
 * A line that begins with "=" is the same in every run; "#" tells what happened in this one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long u64;
typedef unsigned long word;

/* All six registers, two words on the stack and eight vector registers: a shape may check them. */
#define PARAMETERS                                                                                                     \
    u64 *p, word n, word a, word b, word c, word d, word e, word f, double g, double h, double i, double j, double k,  \
        double l, double m, double o
#define ARGUMENTS(p, n)                                                                                                \
    p, n, (n) ^ 1, (n) ^ 2, (n) ^ 3, (n) ^ 4, (n) ^ 5, (n) ^ 6, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5
typedef int (*call_t)(PARAMETERS);

#ifdef __cplusplus
#define HOOK extern "C"
#else
#define HOOK extern
#endif
#ifdef __clang__
#define APART __attribute__((noinline, used))
#else
#define APART __attribute__((noinline, noclone, used))
#endif
#define UNUSED __attribute__((unused))

/* As in cuda.h: what cuMemcpy2D is handed. */
struct copy {
    word source[7], target[7], width, height;
};

struct function {
    const char *name;
    call_t call;
};
static struct function functions[FUNCTIONS];

/* ---- dice ---- */
struct dice {
    u64 state;
};

static u64 roll(struct dice *dice)
{
    dice->state = dice->state * 6364136223846793005u + 1442695040888963407u;
    return dice->state >> 20 ^ dice->state >> 41;
}

/* ---- output ---- */
static int out = 1, gate = -1, hold = -1;
UNUSED static int second_time;
static const char *library;
UNUSED static char **program_words;

static void say(const char *format, ...)
{
    char line[400];
    va_list words;
    va_start(words, format);
    int length = vsnprintf(line, sizeof line - 1, format, words);
    va_end(words);
    if (length > (int)sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    if (write(out, line, length) != length)
        abort();
}

#include "trapped.h"

HOOK word damage; /* what delta.S has seen */
word damage;
static long wrongs;

static void wrong(const char *what, word n, u64 got, u64 want, int result)
{
    if (__atomic_fetch_add(&wrongs, 1, __ATOMIC_RELAXED) < 4)
        say("= wrong: %s(%#lx) made %#llx, not %#llx, and returned %d", what, n, got, want, result);
}

/* ---- counts: thread, function, caller, class of size ---- */
#define SPECIALS 3 /* behind the functions: the resolver, the copy and the one that calls back */
#define ALL (FUNCTIONS + SPECIALS)
#define SLOTS 10
#define LAST_SLOT (SLOTS - 1)
#define CLASSES 5
enum { ALPHA, BETA, DELTA, ECHO, CALLERS };
static const char *const caller_names[] = {"alpha", "beta", "delta", "echo"};
static const char *const special_names[] = {"cuGetProcAddress_v2", "cuMemcpy2D_v2", "cuLaunchHostFunc"};
static struct {
    word calls, sum;
} counts[SLOTS][ALL][CALLERS][CLASSES];
static __thread int slot = LAST_SLOT;

static void count_one(int function, int caller, int class_number, word n)
{
    __atomic_fetch_add(&counts[slot][function][caller][class_number].calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts[slot][function][caller][class_number].sum, n, __ATOMIC_RELAXED);
}

static void count(int function, int caller, word n)
{
    count_one(function, caller, 0, n);
    if (n >> 40)
        count_one(function, caller, (int)(n >> 40), n);
    if ((n & 63) == 5)
        count_one(function, caller, 4, n);
}

static const char *name_of(int function)
{
    return function < FUNCTIONS ? functions[function].name : special_names[function - FUNCTIONS];
}

static void say_counts(void)
{
    for (int s = 0; s < SLOTS; s++)
        for (int f = 0; f < ALL; f++)
            for (int c = 0; c < CALLERS; c++)
                for (int k = 0; k < CLASSES; k++)
                    if (counts[s][f][c][k].calls)
                        say("# count %d %s %s %d %lu %lu", s, name_of(f), caller_names[c], k, counts[s][f][c][k].calls,
                            counts[s][f][c][k].sum);
    say("= damaged registers %#lx, wrong calls %ld", damage, wrongs);
}

/* ---- calls ---- */
/* What each hooked function does, whatever its shape. */
static int mix(u64 *x, word n)
{
    for (;; n--) {
        *x = *x * 31 + n;
        if (!(n & 7))
            return n >> 40 == 3 ? 2 : 0;
    }
}

APART int alpha(int function, u64 *p, word n)
{
    int result = functions[function].call(ARGUMENTS(p, n));
    __asm__ volatile("" ::: "memory"); /* so that this is no tail call */
    return result;
}

HOOK APART int beta(int function, u64 *p, word n); /* by name, through the PLT: in the generated file */
HOOK int delta(call_t call, u64 *p, word n); /* checks the registers: in delta.S */

static int call_by(int caller, int function, u64 *p, word n)
{
    switch (caller) {
    case ALPHA:
        return alpha(function, p, n);
    case BETA:
        return beta(function, p, n);
    default:
        return delta(functions[function].call, p, n);
    }
}

#ifndef LATE
/* The special functions are called from here, each by its name. */
HOOK int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, u64 flags, int *status);
HOOK int cuMemcpy2D_v2(const struct copy *copy);
HOOK int cuLaunchHostFunc(void *stream, void (*fn)(void *), void *data);

APART int echo(int special, const void *what, word n, void **found)
{
    int result = 0, status;
    if (special == 0)
        result = cuGetProcAddress_v2((const char *)what, found, 12000, n, &status);
    else if (special == 1)
        result = cuMemcpy2D_v2((const struct copy *)what);
    else
        result = cuLaunchHostFunc(NULL, (void (*)(void *))what, (void *)n);
    __asm__ volatile("" ::: "memory");
    return result;
}
#endif

static void checked(int caller, int function, u64 x, word n)
{
    u64 want = x;
    int result = mix(&want, n), got = call_by(caller, function, &x, n);
    if (x != want || got != result)
        wrong(functions[function].name, n, x, want, got);
}

/* A size; one in RARE is 1T, one 2T, one 3T and a bit (that call fails). Where it must not match, none is. */
static word size_of(struct dice *dice, int may_match)
{
    u64 random = roll(dice), rare = random % RARE;
    word n = random >> 12 & 0xffffff;
    if (!may_match)
        return n | 63;
    return rare < 3 ? n | (rare + 1) << 40 : n;
}

static int any_function(struct dice *dice, int mine)
{
    int function = (int)(roll(dice) % FUNCTIONS);
    return function == RESERVED && !mine ? (function + 1) % FUNCTIONS : function;
}

static void invoke(struct dice *dice, int may_match)
{
    int function = any_function(dice, slot == 0), caller = (int)(roll(dice) % ECHO);
    word n = size_of(dice, may_match);
    count(function, caller, n);
    checked(caller, function, roll(dice), n);
}

#ifndef LATE
/* The symbol's class is 1 for cuInit, 2 for what begins with cuMem. */
UNUSED static void resolve(struct dice *dice)
{
    static const char *const symbols[] = {"cuInit", "cuMemAlloc", "cuMemFree", "cuCtxCreate", "cu\033[31m"};
    const char *symbol = symbols[roll(dice) % 5];
    word n = roll(dice) & 0xffffff, want = n;
    void *found = NULL;
    int class_number = symbol[2] == 'I' ? 1 : symbol[2] == 'M' ? 2 : 0;
    count_one(FUNCTIONS, ECHO, 0, n);
    if (class_number)
        count_one(FUNCTIONS, ECHO, class_number, n);
    for (const char *c = symbol; *c; c++)
        want = want * 31 + (unsigned char)*c;
    int result = echo(0, symbol, n, &found);
    if (found != (void *)want || result)
        wrong(special_names[0], n, (u64)found, want, result);
}

UNUSED static void copy(struct dice *dice)
{
    word n = size_of(dice, 1);
    struct copy one = {{1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14}, n, 1};
    count(FUNCTIONS + 1, ECHO, n);
    int result = echo(1, &one, n, NULL), want = n >> 40 == 3 ? 2 : 0;
    if (result != want)
        wrong(special_names[1], n, result, want, result);
}

UNUSED static void call_back(void (*fn)(void *), word n)
{
    count_one(FUNCTIONS + 2, ECHO, 0, n);
    echo(2, (const void *)fn, n, NULL);
}
#endif

/* What a child does: nothing is counted, for gdb does not follow there. */
UNUSED static int quietly(struct dice *dice)
{
    long before = wrongs;
    for (int i = 0; i < 12; i++) {
        int function = any_function(dice, 0);
        word n = i % 4 == 3 ? size_of(dice, 0) | (word)(1 + i / 4) << 40 : size_of(dice, 1);
        checked(i % ECHO, function, n * 7, n);
    }
    return 40 + (wrongs != before);
}

/* A timer that fires once, and again only when the handler has counted it: one that goes on by itself can be faster than
 * a debugger is. `fired` counts what any thread has got. */
UNUSED static volatile sig_atomic_t fired, armed;

UNUSED static void set_timer(long microseconds)
{
    struct itimerval once = {{0, 0}, {0, microseconds}};
    setitimer(ITIMER_REAL, &once, NULL);
}

UNUSED static void keep_timer(struct dice *dice)
{
    if (armed != fired) {
        armed = fired;
        set_timer(50 + (long)(roll(dice) % 300));
    }
}

/* ---- workers ---- */
static pthread_t workers[SLOTS];
static volatile int told;

static void *work(void *argument)
{
    slot = (int)(long)argument;
    struct dice dice = {SEED + (u64)slot};
    for (long made = 0; !told || made < 50; made++) {
        invoke(&dice, made < MATCHING);
        if (made % 20 == 19) /* so that the matches are spread over the main thread's work */
            usleep(100 << (made / 1000 % 5));
    }
    return NULL;
}

/* ---- beginning and end ---- */
static int open_end(const char *name)
{
    int fd = open(name, O_RDONLY);
    if (fd < 0)
        abort();
    return fd;
}

static void wait_for(int fd)
{
    char byte;
    while (read(fd, &byte, 1) < 0 && errno == EINTR)
        ;
}

/* program OUT GATE HOLD LIBRARY: it waits at the gate with its workers running, and at the end until hold is closed. */
static void begin(int count_of_words, char **words)
{
    if (count_of_words < 5)
        abort();
    out = open(words[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    gate = open_end(count_of_words > 5 ? "/dev/null" : words[2]); /* once, not again when it has become itself */
    hold = open_end(words[3]);
    library = words[4];
    program_words = words;
    second_time = count_of_words > 5;
    slot = 0;
    signal(SIGUSR2, SIG_IGN); /* the run pokes gdb with it */
    pthread_atfork(NULL, NULL, tell_traps);
}

static void begin_work(void)
{
    for (long i = 1; i <= WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    say("# ready %d", (int)getpid());
    wait_for(gate);
}

static int end_work(void)
{
    told = 1;
    for (int i = 1; i <= WORKERS; i++)
        pthread_join(workers[i], NULL);
    say_counts();
    say("# holding");
    wait_for(hold);
    say("= end");
    return STATUS;
}
