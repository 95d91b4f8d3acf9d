/* torture: Children by vfork and posix_spawn, which use the parent's memory until they are another program. */
#include <spawn.h>
extern char **environ;

static void say_spawned(const char *how, int number, pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        say("= %s %d: no child", how, number);
    else
        say("= %s %d: %s %d", how, number, WIFEXITED(status) ? "exit" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

__attribute__((noinline)) static pid_t vforked(struct dice *dice, char **words)
{
    pid_t child = vfork();
    if (!child) {
        if (words)
            execv("/bin/sh", words);
        _exit(quietly(dice));
    }
    return child;
}

static void part_spawns(struct dice *dice)
{
    char shell[] = "sh", option[] = "-c", text[] = "exit 7", *words[] = {shell, option, text, NULL};
    for (int i = 0; i < 6; i++) {
        struct dice own = {roll(dice)};
        pid_t child = -1;
        invoke(dice, 1);
        if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ))
            child = -1;
        say_spawned("spawn", i, child);
        say_spawned("vfork and exec", i, vforked(&own, words));
        say_spawned("vfork", i, vforked(&own, NULL));
    }
    say("= system: %d", system("exit 5"));
}
