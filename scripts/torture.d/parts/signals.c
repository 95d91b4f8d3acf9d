/* torture (confined): A timer whose handler calls hooked functions, in the middle of such calls, on a stack of its own;
 * threads that are sent signals. */

static volatile sig_atomic_t ticks;
static struct dice tick_dice;

static void on_tick(int number)
{
    (void)number;
    int before = errno;
    fired = fired + 1;
    if (slot == 0 && ++ticks < 400)
        invoke(&tick_dice, ticks % 8 == 0);
    errno = before;
}

static void part_signals(struct dice *dice)
{
    static char stack[65536];
    stack_t other = {};
    struct sigaction action = {}, old;
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    tick_dice.state = roll(dice);
    action.sa_handler = on_tick;
    action.sa_flags = SA_RESTART | (roll(dice) & 1 ? SA_ONSTACK : 0);
    sigaltstack(&other, NULL);
    sigaction(SIGALRM, &action, &old);
    ticks = 0;
    fired = armed + 1;
    for (int i = 0; ticks < 100 || i < 400; i++) {
        keep_timer(dice);
        invoke(dice, i < 400);
        if (i % 16 == 0)
            pthread_kill(i % 32 && WORKERS ? workers[1] : pthread_self(), SIGALRM);
    }
    set_timer(0);
    other.ss_flags = SS_DISABLE;
    signal(SIGALRM, SIG_IGN);
    sigaltstack(&other, NULL);
    say("= signals: enough %d", ticks >= 100);
}
