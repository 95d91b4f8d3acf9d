/* What threads find that make the first calls of a process at the same instant. A process has one first call, so there are
   many processes. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { THREADS = 4, PROCESSES = 40, SECONDS = 4 };

static int arrived;

static void *call_first(void *unused)
{
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < THREADS)
        ;
    refused();
    return unused;
}

static int first_calls(void)
{
    pthread_t thread[THREADS];

    loud = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, call_first, NULL))
            return 2;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

int main(int count, char **told)
{
    time_t end = time(NULL) + SECONDS;
    int status = 0, failed = 0;

    if (count > 1 && strcmp(told[1], "first") == 0)
        return first_calls();
    for (int i = 0; i < PROCESSES && !failed && time(NULL) < end; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", told[0], "first", (char *)NULL);
            _exit(3);
        }
        failed |= waitpid(child, &status, 0) < 0 || status != 0;
    }
    if (failed && WIFSIGNALED(status)) /* it ends as they did */
        raise(WTERMSIG(status));
    return failed;
}
