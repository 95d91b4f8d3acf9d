/* torture (byhand confined): 10,000 children of every sort under 8 threads that match, half of them made inside a hooked function. */
/* (Not by CLONE_VM without waiting: gdb alone ruins those, and the program with them.) */
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
extern char **environ;

enum { FORK, VFORK, SPAWN, CLONE, CLONE_VFORK_VM, RAW, WAYS };
static const char *const ways[] = {"fork", "vfork", "spawn", "clone", "clone, vm and vfork", "raw clone"};
static char *child_stack;
static pid_t made;
static struct dice child_dice;

static int in_clone(void *dice)
{
    _exit(quietly((struct dice *)dice));
}

__attribute__((noinline)) static pid_t by_vfork(void)
{
    pid_t child = vfork();
    if (!child)
        _exit(quietly(&child_dice));
    return child;
}

static pid_t by_spawn(void)
{
    char shell[] = "sh", option[] = "-c", text[] = "exit 40", *words[] = {shell, option, text, NULL};
    pid_t child = -1;
    return posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) ? -1 : child;
}

static pid_t by_clone(int flags)
{
    return clone(in_clone, child_stack + (1 << 16), flags | SIGCHLD, &child_dice);
}

static pid_t make_child(int way)
{
    switch (way) {
    case VFORK:
        return by_vfork();
    case SPAWN:
        return by_spawn();
    case CLONE:
        return by_clone(0);
    case CLONE_VFORK_VM:
        return by_clone(CLONE_VM | CLONE_VFORK);
    }
    pid_t child = way == FORK ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (!child)
        _exit(quietly(&child_dice));
    return child;
}

static void inside(void *way)
{
    made = make_child((int)(long)way);
}

static void part_many_forks(struct dice *dice)
{
    int good[WAYS] = {0}, all[WAYS] = {0};
    child_stack = (char *)malloc(1 << 16);
    for (int i = 0; i < CHILDREN; i++) {
        int way = i % WAYS, status = -1;
        child_dice.state = roll(dice);
        invoke(dice, 1);
        if (roll(dice) % 2)
            call_back(inside, (word)way);
        else
            made = make_child(way);
        if (made > 0 && waitpid(made, &status, __WALL) == made && WIFEXITED(status) && WEXITSTATUS(status) == 40)
            good[way]++;
        else
            say("= %s %d: status %#x", ways[way], i, status);
        all[way]++;
    }
    for (int way = 0; way < WAYS; way++)
        say("= %s: %d of %d children as alone", ways[way], good[way], all[way]);
    free(child_stack);
}
