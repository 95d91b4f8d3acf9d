/* What a child does after a fork, without exec, while other threads of its parent were in calls. There is no context:
   the driver refuses at once and takes no lock, so a lock that is waited for is the hook library's. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { THREADS = 3, CHILDREN = 60, SECONDS = 10 };

static int begun;

static void *go_on(void *unused)
{
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    for (;;)
        refused();
    return unused;
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
    for (int i = 0; i < CHILDREN && time(NULL) < end; i++) {
        pid_t child = fork();
        if (child == 0) {
            refused();
            _exit(0);
        }
        failed |= waitpid(child, &status, 0) < 0 || status != 0;
    }
    _exit(failed);
}
