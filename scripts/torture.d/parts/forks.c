/* torture: Children by fork, while other threads call: they call too, fork again, start threads, die of a signal. */
static void *fork_thread(void *dice)
{
    slot = LAST_SLOT;
    return (void *)(long)quietly((struct dice *)dice);
}

static int forked(struct dice *dice, int kind)
{
    int status = quietly(dice);
    if (kind == 1) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, fork_thread, dice);
        pthread_join(thread, &result);
        return (int)(long)result;
    }
    if (kind == 2) {
        pid_t next = fork();
        if (!next)
            _exit(quietly(dice));
        waitpid(next, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
    }
    if (kind == 3)
        abort();
    return status;
}

UNUSED static void say_child(const char *how, int number, pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, __WALL) != child)
        say("= %s %d: no child", how, number);
    else if (WIFEXITED(status))
        say("= %s %d: exit %d", how, number, WEXITSTATUS(status));
    else
        say("= %s %d: signal %d", how, number, WTERMSIG(status));
}

static void part_forks(struct dice *dice)
{
    int times = roll(dice) % 4 ? 24 : 200;
    for (int i = 0; i < times; i++) {
        struct dice own = {roll(dice)};
        invoke(dice, 1);
        pid_t child = fork();
        if (!child)
            _exit(forked(&own, i % 4));
        say_child("fork", i, child);
    }
}
