/* torture (confined): A timer whose handler calls hooked functions, in the middle of such calls, on a stack of its own; threads
 * that are sent signals. */
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static struct dice tick_dice;

static void on_tick(int number)
{
    (void)number;
    int before = errno;
    if (slot == 0 && ++ticks < 400)
        invoke(&tick_dice, ticks % 8 == 0);
    errno = before;
}

static void part_signals(struct dice *dice)
{
    static char stack[65536];
    stack_t other = {};
    struct sigaction action = {}, old;
    struct itimerval every = {{0, 300}, {0, 300}}, never = {};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    tick_dice.state = roll(dice);
    action.sa_handler = on_tick;
    action.sa_flags = SA_RESTART | (roll(dice) & 1 ? SA_ONSTACK : 0);
    sigaltstack(&other, NULL);
    sigaction(SIGALRM, &action, &old);
    ticks = 0;
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; ticks < 100 || i < 400; i++) {
        invoke(dice, i < 400);
        if (i % 16 == 0)
            pthread_kill(i % 32 && WORKERS ? workers[1] : pthread_self(), SIGALRM);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    other.ss_flags = SS_DISABLE;
    signal(SIGALRM, SIG_IGN);
    sigaltstack(&other, NULL);
    say("= signals: enough %d", ticks >= 100);
}
