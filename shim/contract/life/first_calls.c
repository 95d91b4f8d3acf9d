/* What a thread finds that makes its first calls while another one is in the first calls of the process: behind each
   instruction there that others could see, in the hook library. A process has one first call, so there are many processes. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* DECLARATIONS */

/* STEPPING */

#define CALL(name) name

/* WORK */

enum { THREADS = 4, PROCESSES = 40, SECONDS = 4, NO_SUCH_PLACE = 4, HOW_OFTEN = 3 };

static int arrived, place, passed, is_asked;
static sem_t asked, answered;
static pid_t other;

static void *call_when_asked(void *unused)
{
    other = gettid();
    sem_post(&answered);
    sem_wait(&asked);
    refused();
    sem_post(&answered);
    return unused;
}

static bool let_the_other_call(unsigned long at, bool is_after_another)
{
    if (!is_after_another || !is_new_place(at) || passed++ != place)
        return true;
    is_asked = 1;
    sem_post(&asked);
    other_thread_answers(&answered, other);
    return false;
}

static int in_steps(void)
{
    pthread_t thread;

    loud = 0;
    sem_init(&asked, 0, 0), sem_init(&answered, 0, 0);
    if (pthread_create(&thread, NULL, call_when_asked, NULL))
        return 2;
    sem_wait(&answered);
    stepping_begins(NULL, let_the_other_call);
    refused();
    stepping_ends();
    if (is_asked)
        pthread_join(thread, NULL);
    return is_asked ? 0 : NO_SUCH_PLACE;
}

static void *call_first(void *unused)
{
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < THREADS)
        ;
    refused();
    return unused;
}

static int by_chance(void)
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
    bool is_stepped = count > 1 && stepping_finds(told[1]);
    time_t end = time(NULL) + SECONDS;
    int status = 0, failed = 0;

    place = count > HOW_OFTEN ? atoi(told[HOW_OFTEN]) : 0;
    if (count > HOW_OFTEN)
        return is_stepped ? in_steps() : by_chance();
    for (int i = 0; i < PROCESSES && !failed && (is_stepped || time(NULL) < end); i++) {
        pid_t child = fork();
        if (child == 0) {
            char number[16];
            snprintf(number, sizeof number, "%d", i);
            execl(told[0], told[0], count > 1 ? told[1] : "", "-", number, (char *)NULL);
            _exit(3);
        }
        failed |= waitpid(child, &status, 0) < 0 || status != 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_PLACE)
            return 0;
    }
    if (failed && WIFSIGNALED(status)) /* it ends as they did */
        raise(WTERMSIG(status));
    return failed;
}
