/* torture (unwinds): A profiler: a timer whose handler walks the stack. Each walk has to end where the thread began. But
 * for those that begin at the jump of an island, which lies beside a function: cuda-guards says that they are lost. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <ucontext.h>

enum { WALKS = 150, JUMP = 0xe9 };
static volatile sig_atomic_t walks, lost;
static pthread_t walker;
static word unwinder, unwinder_end;
static void *outermost, *lost_stack[80];
static int lost_depth;

static int find_unwinder(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (int i = 0; strstr(object->dlpi_name, "libgcc_s") && i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_flags & PF_X && object->dlpi_phdr[i].p_type == PT_LOAD) {
            unwinder = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
            unwinder_end = unwinder + object->dlpi_phdr[i].p_memsz;
        }
    return unwinder != 0;
}

/* Where it goes over to the frame that catches an exception there is no stack to walk: alone, the program loses one there
 * in one of nine runs, and dies in one of 65. */
static int is_unwinding(const ucontext_t *context)
{
    word at = (word)context->uc_mcontext.gregs[REG_RIP];
    return unwinder <= at && at < unwinder_end;
}

/* (A guard in our own library loses none.) */
static int is_island(const ucontext_t *context)
{
    const unsigned char *at = (const unsigned char *)context->uc_mcontext.gregs[REG_RIP];
    Dl_info found = {};
    return *at == JUMP && dladdr(at, &found) && !strstr(found.dli_fname, "libgdbcuda");
}

static void on_profile(int number, siginfo_t *about, void *context)
{
    void *stack[80];
    int before = errno;
    (void)about;
    if (slot == 0 && is_unwinding((ucontext_t *)context))
        fired = fired + 1;
    else if (slot == 0) {
        int depth = backtrace(stack, 80);
        fired = fired + 1;
        walks++;
        if ((depth < 4 || stack[depth - 1] != outermost) && !is_island((ucontext_t *)context)) {
            lost++;
            memcpy(lost_stack, stack, sizeof stack);
            lost_depth = depth;
        }
    } else /* the kernel gives it to a thread that does not stand at a breakpoint, which the main thread does mostly */
        pthread_kill(walker, number);
    errno = before;
}

static void part_backtraces(struct dice *dice)
{
    void *stack[80];
    struct sigaction action = {};
    int depth = backtrace(stack, 80);
    outermost = stack[depth - 1];
    action.sa_sigaction = on_profile;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigaction(SIGALRM, &action, NULL);
    walker = pthread_self();
    dl_iterate_phdr(find_unwinder, NULL);
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
