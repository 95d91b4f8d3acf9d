/* Calls through the recorder in libgdbcuda.so, as if their functions' entries were patched: through their slots.
 * Says where the recorder's state is, and what it saw itself; then writes the recorder's memory to standard output. */
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "ring_layout.h"

extern uint64_t gdbcuda_recorder_v1[], gdbcuda_functions_v1[];
extern char gdbcuda_slots_v1[];

enum { ADD, OUT, OUTER, JUMPS, FAILS, NOTHING, LAUNCH };

static long add(long a, long b, long c, long d, long e, long f, double x, long g, long h, long i)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + (long)(7 * x) + 8 * g + 9 * h + 10 * i;
}

/* Words on the stack, and nothing else beside the registers. */
static long launch(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

static void *called_from[LAUNCH + 1];

static int out(uint64_t *to, uint64_t value)
{
    called_from[OUT] = __builtin_return_address(0);
    if (to)
        *to = value;
    return 0;
}

static int fails(uint64_t *to)
{
    called_from[FAILS] = __builtin_return_address(0);
    *to = 1;
    return 2;
}

static __typeof__(&add) call_add;
static __typeof__(&launch) call_launch;
static __typeof__(&out) call_out;
static __typeof__(&fails) call_fails;

static int outer(long n)
{
    uint64_t found;
    for (long i = 0; i < n; i++)
        call_out(&found, (uint64_t)i);
    return 0;
}
static __typeof__(&outer) call_outer;

static jmp_buf back;
static int jumps(void)
{
    longjmp(back, 1);
}
static __typeof__(&jumps) call_jumps;

static void *slot(int index, void *original, int stack, int floats, int outs, uint64_t first)
{
    uint64_t *one = gdbcuda_functions_v1 + index * FUNCTION_SIZE;
    one[FUNCTION_ORIGINAL] = (uint64_t)original;
    one[FUNCTION_STACK] = (uint64_t)stack;
    one[FUNCTION_FLOATS] = (uint64_t)floats;
    one[FUNCTION_OUT_COUNT] = (uint64_t)outs;
    one[FUNCTION_OUTS] = first;
    return gdbcuda_slots_v1 + index * SLOT_SIZE;
}

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "wrong: %s\n", what);
        exit(1);
    }
}

static long calls;
static void *work(void *number)
{
    for (long i = 0; i < calls; i++) {
        long n = (long)number + i;
        long got = call_add(n, 1, 2, 3, 4, 5, 0.5 * (double)i, 6, 7, i);
        check(got == add(n, 1, 2, 3, 4, 5, 0.5 * (double)i, 6, 7, i), "what came back");
    }
    return NULL;
}

static void threads(int count)
{
    pthread_t made[64];
    for (long i = 0; i < count; i++)
        pthread_create(&made[i], NULL, work, (void *)(i * 1000000));
    for (int i = 0; i < count; i++)
        pthread_join(made[i], NULL);
}

static void launch_below(long used)
{
    volatile char below[used];
    below[0] = 9;
    long got = call_launch(used, 2, 3, 4, 5, 6, 7, -used, below[0]);
    check(got == launch(used, 2, 3, 4, 5, 6, 7, -used, 9), "what came back");
}

/* From every place of a page, and of the one below it. */
static void launches(void)
{
    for (long used = 16; used <= 8192; used += 16)
        launch_below(used);
}

static void jump_over(void)
{
    if (!setjmp(back))
        call_jumps();
    call_outer(1);
}

static void fork_child(void)
{
    call_outer(2);
    pid_t child = fork();
    if (!child) {
        call_outer(3);
        uint64_t *ring = (uint64_t *)gdbcuda_recorder_v1[STATE_RINGS];
        _exit(ring[RING_HEAD] == 4 && ring[RING_PID] == (uint64_t)getpid() ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    check(status == 0, "the child's ring");
}

static volatile long instructions;
static long lost;
static void *outermost;
static void at_instruction(int signal, siginfo_t *info, void *context)
{
    void *frames[32];
    int count = backtrace(frames, 32);
    (void)signal, (void)info, (void)context;
    instructions++;
    lost += count < 1 || frames[count - 1] != outermost;
}

/* The processor's trap flag: unwound itself while it is set. */
__asm__(".macro flag name, change\n"
        ".type \\name, @function\n"
        "\\name: .cfi_startproc; pushfq; .cfi_adjust_cfa_offset 8; \\change, (%rsp)\n"
        "popfq; .cfi_adjust_cfa_offset -8; ret; .cfi_endproc\n"
        ".endm\n"
        "flag trap_on, \"orl $0x100\"\n"
        "flag trap_off, \"andl $~0x100\"\n");
void trap_on(void), trap_off(void);

/* Calls what does nothing, as a compiler may that knows it: everything stays in its register. */
#define EACH_REGISTER ".irp pair, rdi, rsi, rdx, rcx, r8, r9, r10, r11, rax\n"
__asm__("nothing: ret\n"
        "keeps_registers: .cfi_startproc; push %rbx; .cfi_adjust_cfa_offset 8; mov %rdi, %rbx\n"
        ".set value, 0x1234567\n"
        EACH_REGISTER "mov $value, %\\pair\n .set value, value + 0x1111\n .endr\n"
        ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movq %rax, %xmm\\n\n punpcklqdq %xmm\\n, %xmm\\n\n .endr\n"
        "call *%rbx\n"
        ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movhlps %xmm\\n, %xmm\\n\n movq %xmm\\n, %rbx\n"
        "cmp %rax, %rbx\n jne 1f\n .endr\n"
        ".set value, 0x1234567\n"
        EACH_REGISTER "cmp $value, %\\pair\n jne 1f\n .set value, value + 0x1111\n .endr\n"
        "mov $1, %eax; pop %rbx; ret\n"
        "1: xor %eax, %eax; pop %rbx; ret; .cfi_endproc\n");
void nothing(void);
int keeps_registers(void *call);

static void *step_by_step(void *unused)
{
    struct sigaction action = {.sa_sigaction = at_instruction, .sa_flags = SA_SIGINFO};
    void *frames[32];
    (void)unused;
    outermost = frames[backtrace(frames, 32) - 1];
    sigaction(SIGTRAP, &action, NULL);
    call_add(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9);
    uint64_t found;
    trap_on();
    long got = call_add(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9);
    call_out(&found, 5);
    got += call_launch(1, 2, 3, 4, 5, 6, 7, 8, 9);
    trap_off();
    check(got == add(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9) + launch(1, 2, 3, 4, 5, 6, 7, 8, 9), "what came back");
    return NULL;
}

static void call_out_always(void)
{
    uint64_t found;
    __atomic_fetch_add(&instructions, 1, __ATOMIC_RELAXED); /* the next signal may come in between */
    call_out(&found, 7);
}

/* At every instruction from the moment that a ring is being made, a signal handler makes a recorded call itself. */
static void call_out_too(int signal)
{
    (void)signal;
    if (gdbcuda_recorder_v1[STATE_COUNT])
        call_out_always();
}

static void calls_in_handler(void)
{
    uint64_t found;
    signal(SIGTRAP, call_out_too);
    trap_on();
    long got = call_add(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9);
    call_out(&found, 5);
    got += call_launch(1, 2, 3, 4, 5, 6, 7, 8, 9);
    trap_off();
    check(got == add(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9) + launch(1, 2, 3, 4, 5, 6, 7, 8, 9) && found == 5, "what came back");
    fprintf(stderr, "%ld\n", instructions);
}

/* The next signal comes soon, also while this one's call makes the ring. */
static void again_soon(int signal)
{
    static const struct itimerval soon = {{0, 0}, {0, 10}};
    (void)signal;
    if (instructions < 20) {
        setitimer(ITIMER_REAL, &soon, NULL);
        call_out_always();
    }
}

static void calls_in_timer(void)
{
    struct sigaction action = {.sa_handler = again_soon, .sa_flags = SA_NODEFER};
    sigaction(SIGALRM, &action, NULL);
    again_soon(0);
    while (instructions < 20)
        ;
    fprintf(stderr, "%ld\n", instructions);
}

static int cleaned;
static void clean(void *unused)
{
    (void)unused;
    cleaned++;
}

static void *leave_thread(void *unused)
{
    (void)unused;
    pthread_cleanup_push(clean, NULL);
    call_jumps(); /* pthread_exit unwinds through it */
    pthread_cleanup_pop(0);
    return NULL;
}

static int exits(void)
{
    pthread_exit(NULL);
}

static void thread_exit(void)
{
    pthread_t made;
    slot(JUMPS, exits, 0, 0, 0, 0);
    pthread_create(&made, NULL, leave_thread, NULL);
    pthread_join(made, NULL);
    check(cleaned == 1, "the caller's cleanup");
}

static void pointers(void)
{
    check(keeps_registers(nothing) && keeps_registers(slot(NOTHING, nothing, 0, 0, 0, 0)), "the registers");
    uint64_t found = 0;
    call_out(&found, 0x1234);
    call_out(NULL, 1);
    call_fails(&found);
    call_add(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9);
}

/* Whose records have been those of others, which had returned and written something. */
static void in_used_places(void)
{
    uint64_t found;
    call_out(&found, 5);
    call_out(&found, 5);
    call_fails(&found);
    if (!setjmp(back))
        call_jumps();
}

/* As a program with other work between its calls, until the recorder has looked at the clock some times. */
static void with_work_between(void)
{
    uint64_t found;
    for (long i = 0; i < 4000; i++) {
        call_out(&found, 7);
        call_launch(1, 2, 3, 4, 5, 6, 7, 8, 9);
        for (uint64_t start = __builtin_ia32_rdtsc(); __builtin_ia32_rdtsc() - start < 5000;)
            ;
    }
}

/* Which pages are there behind what has been written: of the fronts, and of what else calls have. */
static void pages_ahead(void)
{
    unsigned char there[2] = {0, 0};
    with_work_between();
    uint64_t *ring = (uint64_t *)gdbcuda_recorder_v1[STATE_RINGS], *fronts = ring + RING_HEADER;
    uint64_t *more = fronts + ring[RING_RECORDS] * FRONT_SIZE;
    mincore(fronts + (ring[RING_HEAD] + 32) * FRONT_SIZE / 512 * 512, 4096, there);
    mincore(more + (ring[RING_MORE] + 512) / 512 * 512, 4096, there + 1);
    instructions = there[0] & 1, lost = there[1] & 1;
}

static void write_all(uint64_t address, uint64_t size)
{
    fwrite(&address, 8, 1, stdout);
    fwrite(&size, 8, 1, stdout);
    fwrite((void *)address, size, 1, stdout);
}

int main(int count, char **words)
{
    const char *what = words[1];
    call_add = slot(ADD, add, 3, 1, 0, 0);
    call_out = slot(OUT, out, 0, 0, 1, 0 | sizeof(uint64_t) << 8);
    call_outer = slot(OUTER, outer, 0, 0, 0, 0);
    call_jumps = slot(JUMPS, jumps, 0, 0, 0, 0);
    call_launch = slot(LAUNCH, launch, 3, 0, 0, 0);
    call_fails = slot(FAILS, fails, 0, 0, 1, 0 | sizeof(uint64_t) << 8);
    gdbcuda_recorder_v1[STATE_RECORDS] = strtoul(words[2], NULL, 0);
    calls = count > 4 ? strtol(words[4], NULL, 0) : 1;
    if (!strcmp(what, "threads"))
        threads(atoi(words[3]));
    else if (!strcmp(what, "jump"))
        jump_over();
    else if (!strcmp(what, "used"))
        in_used_places();
    else if (!strcmp(what, "launches"))
        launches();
    else if (!strcmp(what, "fork"))
        fork_child();
    else if (!strcmp(what, "timer"))
        calls_in_timer();
    else if (!strcmp(what, "handler"))
        calls_in_handler();
    else if (!strcmp(what, "exit"))
        thread_exit();
    else if (!strcmp(what, "step"))
        step_by_step(NULL);
    else if (!strcmp(what, "ahead"))
        pages_ahead();
    else
        pointers();
    if (!strcmp(what, "step") || !strcmp(what, "places") || !strcmp(what, "ahead")) {
        printf("%ld %ld\n", instructions, lost);
        return !strcmp(what, "places") && called_from[OUT] == called_from[FAILS];
    }
    uint64_t state = (uint64_t)gdbcuda_recorder_v1;
    fwrite(&state, 8, 1, stdout);
    write_all(state, STATE_SIZE * 8);
    for (uint64_t i = 0; i < gdbcuda_recorder_v1[STATE_COUNT] && i < MOST_RINGS; i++) {
        uint64_t *ring = (uint64_t *)gdbcuda_recorder_v1[STATE_RINGS + i];
        write_all((uint64_t)ring, (RING_HEADER + ring[RING_RECORDS] * RING_RECORD + PAST_ROOM) * 8);
    }
    return 0;
}
