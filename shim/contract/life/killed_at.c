/* A process is killed in a call, behind each instruction there that others could see, in the hook library. The next one has
   to come as far, and one further, in time. */
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

enum { LIBRARY_PATH = 1, SECONDS = 2, PLACE = 3, MOST_KILLED = 40, SECOND = 1000000000 };

static int place, passed;

static bool end_here(unsigned long at, bool is_after_another)
{
    if (is_after_another && is_new_place(at) && passed++ == place)
        kill(getpid(), SIGKILL);
    return true;
}

static int end_in_call(bool is_stepped)
{
    start();
    loud = 0;
    if (is_stepped)
        stepping_begins(NULL, end_here);
    work();
    if (is_stepped)
        stepping_ends();
    return 0;
}

static pid_t begin(char **told, int number)
{
    char text[16];
    pid_t child = fork();
    snprintf(text, sizeof text, "%d", number);
    if (child == 0) {
        execl(told[0], told[0], told[LIBRARY_PATH], told[SECONDS], text, (char *)NULL);
        _exit(3);
    }
    return child;
}

static int ends_in_time(const sigset_t *children, const char *seconds)
{
    double patience = atof(seconds);
    struct timespec most = {(time_t)patience, (long)((patience - (double)(time_t)patience) * SECOND)};
    return sigtimedwait(children, NULL, &most) == SIGCHLD;
}

int main(int count, char **told)
{
    int status = 0;
    sigset_t children;

    bool is_stepped = count > SECONDS && stepping_finds(told[LIBRARY_PATH]);

    if (count > PLACE) {
        place = atoi(told[PLACE]);
        return end_in_call(is_stepped);
    }
    if (!is_stepped)
        return 0;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    for (int i = 0; i < MOST_KILLED; i++) {
        pid_t child = begin(told, i);
        int is_in_time = ends_in_time(&children, told[SECONDS]);
        if (!is_in_time)
            kill(child, SIGKILL);
        if (waitpid(child, &status, 0) < 0 || !is_in_time)
            return !!puts("late");
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            break;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) /* it ends as that did */
        raise(WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}
