/* torture (confined): Children by clone itself, with their own memory or the parent's, with and without waiting. */
#include <sched.h>
#include <sys/syscall.h>

static int clone_flags;

/* No handler of a fork has run in a child. In the parent's memory it is left alone. */
static int cloned(void *dice)
{
    if (!(clone_flags & CLONE_VM))
        tell_traps();
    _exit(quietly((struct dice *)dice));
}

static void say_clone(const char *how, int number, pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, __WALL) != child)
        say("= %s %d: no child", how, number);
    else
        say("= %s %d: %s %d", how, number, WIFEXITED(status) ? "exit" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void part_clones(struct dice *dice)
{
    static const struct {
        const char *name;
        int flags;
    } ways[] = {{"clone", SIGCHLD}, {"clone, vm and vfork", CLONE_VM | CLONE_VFORK | SIGCHLD}, {"clone, vm", CLONE_VM | SIGCHLD}};
    size_t size = 1 << 16;
    char *stack = (char *)malloc(size);
    for (int i = 0; i < 18; i++) {
        struct dice own = {roll(dice)};
        invoke(dice, 1);
        clone_flags = ways[i % 3].flags;
        say_clone(ways[i % 3].name, i, clone(cloned, stack + size, clone_flags, &own));
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (!child) {
            tell_traps();
            _exit(quietly(&own));
        }
        say_clone("raw clone", i, child);
    }
    free(stack);
}
