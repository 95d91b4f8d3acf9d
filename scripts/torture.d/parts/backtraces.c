/* torture (unwinds): A profiler: a timer whose handler walks the stack. Each walk has to end where the thread began. */
#include <dlfcn.h>
#include <execinfo.h>

enum { WALKS = 150 };
static volatile sig_atomic_t walks, lost;
static void *outermost, *lost_stack[80];
static int lost_depth;

static void on_profile(int number)
{
    void *stack[80];
    int before = errno;
    (void)number;
    fired = fired + 1;
    if (slot == 0) {
        int depth = backtrace(stack, 80);
        walks++;
        if (depth < 4 || stack[depth - 1] != outermost) {
            lost++;
            memcpy(lost_stack, stack, sizeof stack);
            lost_depth = depth;
        }
    }
    errno = before;
}

static void part_backtraces(struct dice *dice)
{
    void *stack[80];
    struct sigaction action = {};
    int depth = backtrace(stack, 80);
    outermost = stack[depth - 1];
    action.sa_handler = on_profile;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    walks = lost = 0;
    fired = armed + 1;
    for (int i = 0; walks < WALKS && i < 30000000; i++) {
        keep_timer(dice);
        invoke(dice, i < 200);
    }
    set_timer(0);
    signal(SIGALRM, SIG_IGN);
    for (int i = 0; i < lost_depth; i++) {
        Dl_info found = {};
        dladdr(lost_stack[i], &found);
        say("# lost %p in %s, %s", lost_stack[i], found.dli_fname ? found.dli_fname : "?", found.dli_sname ? found.dli_sname : "?");
    }
    say("= backtraces: %d of %s lost", (int)lost, walks < WALKS ? "few" : "many");
}
