/* A signal that the program waits for: each thread of its own has it blocked. One of another's that has not takes it. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { ROUNDS = 9, MOST = 500, PAUSE = 20000 }; /* microseconds */

static int runs(const char *thread)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    char *end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return end && end[1] && end[2] == 'R';
}

static int another_runs(void)
{
    int found = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *one; threads && (one = readdir(threads));)
        found += atoi(one->d_name) > 0 && atoi(one->d_name) != getpid() && runs(one->d_name);
    if (threads)
        closedir(threads);
    return found;
}

/* A thread that begins has all signals blocked for a while, which is long on a busy machine. */
static void let_begin(void)
{
    usleep(PAUSE);
    for (int i = 0; i < MOST && another_runs(); i++)
        usleep(PAUSE);
}

int main(void)
{
    static const int numbers[] = {SIGTERM, SIGUSR1, SIGCHLD};
    struct timespec patience = {.tv_sec = 2};
    sigset_t waited;

    sigemptyset(&waited);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&waited, numbers[i]);
    sigprocmask(SIG_BLOCK, &waited, NULL);
    start();
    work();
    let_begin();
    for (int i = 0; i < ROUNDS; i++) {
        int number = numbers[i / (ROUNDS / 3)];
        usleep(PAUSE / 4);
        kill(getpid(), number);
        say("signal-received", sigtimedwait(&waited, NULL, &patience));
    }
    return 0;
}
