/* torture: Threads that live for a few calls: joined, detached, ended by pthread_exit or cancelled. */
static int churn_detached, churn_gone;

static void *churn_calls(void *argument)
{
    struct dice dice = {(u64)argument};
    for (int i = 0; i < 8; i++)
        invoke(&dice, 1);
    if ((u64)argument % 4 == 1)
        pthread_exit(NULL);
    if ((u64)argument % 4 == 2)
        for (;;)
            usleep(1000);
    if (churn_detached)
        __atomic_fetch_add(&churn_gone, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void part_churn(struct dice *dice)
{
    int cancelled = 0, detached = 0;
    for (u64 i = 0; i < 24; i++) {
        pthread_t thread;
        u64 seed = roll(dice) << 2 | (i & 3);
        void *result = NULL;
        churn_detached = i % 4 == 3;
        pthread_create(&thread, NULL, churn_calls, (void *)seed);
        if (churn_detached) {
            pthread_detach(thread);
            for (detached++; __atomic_load_n(&churn_gone, __ATOMIC_SEQ_CST) < detached;)
                usleep(100);
            continue;
        }
        if (i % 4 == 2)
            pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    say("= churn: %d cancelled, %d detached", cancelled, churn_gone);
}
