#include "contract/other_threads.h"

#if defined __x86_64__
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What /proc says of a thread: 0 where it is not there. */
static size_t said_of(pid_t thread, const char *file, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)thread, file);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t found = from >= 0 ? read(from, text, size - 1) : 0;
    if (from >= 0)
        close(from);
    text[found > 0 ? found : 0] = 0;
    return found > 0 ? (size_t)found : 0;
}

static bool is_asleep(pid_t thread)
{
    char text[512];
    const char *name_end = said_of(thread, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] && name_end[2] == 'S';
}

/* In nanoseconds. */
static unsigned long long has_run(pid_t thread)
{
    char text[128];
    unsigned long long found = 0;
    return said_of(thread, "schedstat", text, sizeof text) && sscanf(text, "%llu", &found) == 1 ? found : 0;
}

static struct timespec soon(void)
{
    enum { A_WHILE = 200000, SECOND = 1000000000 }; /* nanoseconds */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += A_WHILE;
    until.tv_sec += until.tv_nsec / SECOND;
    until.tv_nsec %= SECOND;
    return until;
}

bool other_thread_answers(sem_t *answer, pid_t from)
{
    enum { ASLEEP = 3, TURNING = 20000000, KNOWN = 1000000 }; /* looks, nanoseconds */
    static int turned;
    unsigned long long begin = has_run(from);
    for (int asleep = 0; asleep < ASLEEP;) {
        struct timespec until = soon();
        if (sem_timedwait(answer, &until) == 0)
            return true;
        asleep = is_asleep(from) ? asleep + 1 : 0;
        if (has_run(from) - begin > (turned > ASLEEP ? KNOWN : TURNING)) {
            turned++;
            return false;
        }
    }
    return false;
}
#else
bool other_thread_answers(sem_t *answer, pid_t from)
{
    (void)from;
    return sem_wait(answer) == 0;
}
#endif
