/* What a child does after a fork, without exec, while another thread of its parent was in a call: behind each instruction
   there that others could see, in the hook library. No thread is in the driver then, so a lock that is waited for is the
   hook library's. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* DECLARATIONS */

/* STEPPING */

#define CALL(name) name

/* WORK */

enum { THREADS = 3, CHILDREN = 60, SECONDS = 4 };

static int status, failed, is_asked, has_child, is_begun;
static sem_t asked, forked, ended;
static pid_t forking, child;
static int begun, rounds, is_over;

static void call_in_child(void)
{
    if (!is_begun)
        start();
    work();
    _exit(0);
}

static void wait_for(pid_t one)
{
    int how = 0;
    if (waitpid(one, &how, 0) >= 0 && how == 0)
        return;
    status = how;
    failed = 1;
}

static void *fork_when_asked(void *unused)
{
    forking = gettid();
    sem_post(&ended);
    while (sem_wait(&asked) == 0) {
        child = fork();
        if (child == 0)
            call_in_child();
        sem_post(&forked);
        wait_for(child);
        sem_post(&ended);
    }
    return unused;
}

/* Who forks may wait for what the first thread has, and the child for what processes share: then that one goes on. */
static bool let_fork(unsigned long at, bool is_after_another)
{
    if (!is_after_another || !is_new_place(at) || failed)
        return true;
    if (is_asked && !has_child)
        has_child = sem_trywait(&forked) == 0;
    if (has_child && other_thread_answers(&ended, child))
        is_asked = has_child = 0;
    if (is_asked)
        return true;
    is_asked = 1;
    sem_post(&asked);
    has_child = other_thread_answers(&forked, forking);
    if (has_child && other_thread_answers(&ended, child))
        is_asked = has_child = 0;
    return true;
}

static void in_steps(void)
{
    stepping_begins(NULL, let_fork);
    work();
    stepping_ends();
    if (is_asked && !has_child)
        sem_wait(&forked);
    if (is_asked)
        sem_wait(&ended);
    is_asked = has_child = 0;
}

static void *go_on(void *unused)
{
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        refused();
        __atomic_fetch_add(&rounds, 1, __ATOMIC_SEQ_CST);
    }
    return unused;
}

/* On a busy machine they may all stand still over many forks, each of which would find the same. */
static void let_them_go_on(void)
{
    int before = __atomic_load_n(&rounds, __ATOMIC_SEQ_CST);
    do
        usleep(100);
    while (__atomic_load_n(&rounds, __ATOMIC_SEQ_CST) == before);
}

/* Without a context: the driver refuses before it takes a lock. */
static void by_chance(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, go_on, NULL);
    while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < THREADS) /* a busy machine may take longer than all the forks */
        usleep(100);
    time_t end = time(NULL) + SECONDS; /* there its own threads leave the forks little time */
    for (int i = 0; i < CHILDREN && !failed && time(NULL) < end; i++) {
        let_them_go_on();
        pid_t one = fork();
        if (one == 0) {
            refused();
            _exit(0);
        }
        wait_for(one);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

int main(int count, char **told)
{
    pthread_t thread;
    bool is_stepped = count > 2 && stepping_finds(told[1]);

    sem_init(&asked, 0, 0), sem_init(&forked, 0, 0), sem_init(&ended, 0, 0);
    if (is_stepped && pthread_create(&thread, NULL, fork_when_asked, NULL) == 0)
        sem_wait(&ended);
    for (int state = 0; state < states(count, told) && !failed; state++) {
        reach(state);
        is_begun = state > 0;
        if (is_stepped)
            quietly(in_steps);
        else if (state == WITHOUT_CONTEXT)
            quietly(by_chance);
    }
    if (failed && WIFSIGNALED(status)) /* it ends as they did */
        raise(WTERMSIG(status));
    _exit(failed);
}
