/* What a child does after a fork, without exec, while other threads of its parent were in calls. There is no context:
   the driver refuses at once and takes no lock, so a lock that is waited for is the hook library's. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { THREADS = 3, CHILDREN = 60, SECONDS = 4 };

static int begun, rounds;

static void *go_on(void *unused)
{
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    for (;;) {
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

int main(void)
{
    pthread_t thread;
    int status = 0, failed = 0;
    time_t end;

    CALL(cuInit)(0);
    refused();
    loud = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, go_on, NULL);
    while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < THREADS) /* a busy machine may take longer than all the forks */
        usleep(100);
    end = time(NULL) + SECONDS; /* there its own threads leave the forks little time */
    for (int i = 0; i < CHILDREN && !failed && time(NULL) < end; i++) {
        let_them_go_on();
        pid_t child = fork();
        if (child == 0) {
            refused();
            _exit(0);
        }
        failed |= waitpid(child, &status, 0) < 0 || status != 0;
    }
    if (failed && WIFSIGNALED(status)) /* it ends as they did */
        raise(WTERMSIG(status));
    _exit(failed);
}
