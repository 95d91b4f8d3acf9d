/* Processes that ask for memory at the same instant, and one, or some of several, that are killed while they hold some.
   Arguments: the limit in bytes, the seconds in which a dead process's share has to be back. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* DECLARATIONS */

enum { PROCESSES = 4, ROUNDS = 50, HOLDERS = 8, PARTS = 16 };

static size_t limit, size;
static struct {
    pthread_barrier_t line;
    size_t granted, most;
    int holds, parts;
    double back;
} *shared;

/* HELPERS */

static int begin(void)
{
    CUcontext context;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static size_t taken(void)
{
    size_t free = 0, total = 0;
    return cuMemGetInfo_v2(&free, &total) ? 0 : total - free;
}

static int get(BLOCK *given)
{
    BLOCK block = 0;
    int has = ALLOCATE == 0;
    *given = block;
    return has;
}

static int give(BLOCK block)
{
    return RELEASE == 0;
}

static void hold(void)
{
    BLOCK block = 0;
    size = limit / 2;
    if (begin())
        _exit(2);
    int has = get(&block);
    printf("alone %d\n", has);
    fflush(stdout);
    if (!has)
        _exit(0);
    __atomic_store_n(&shared->holds, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause();
}

static void ask_at_once(int is_first)
{
    size = limit / 10 * 6;
    if (begin())
        _exit(2);
    for (int round = 0; round < ROUNDS; round++) {
        BLOCK block = 0;
        pthread_barrier_wait(&shared->line);
        int has = get(&block);
        if (has)
            __atomic_fetch_add(&shared->granted, size, __ATOMIC_SEQ_CST);
        pthread_barrier_wait(&shared->line);
        if (is_first && shared->granted > shared->most)
            shared->most = shared->granted;
        if (has)
            give(block);
        pthread_barrier_wait(&shared->line);
        if (is_first)
            shared->granted = 0;
    }
    _exit(0);
}

static int all_at_once(void)
{
    int status, failed = 0;
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        if ((child[i] = fork()) == 0)
            ask_at_once(i == 0);
    for (int i = 0; i < PROCESSES; i++) {
        failed |= wait(&status) < 0 || status != 0;
        for (int j = 0; failed && j < PROCESSES; j++)
            kill(child[j], SIGKILL); /* it would wait at the line for the one that is gone */
    }
    printf("together %zu\n", shared->most);
    return failed;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The share of the dead has to be usable again: most of the limit is asked for. */
static double until_back(double patience)
{
    double start = now();
    size = limit / 4 * 3;
    do {
        BLOCK block = 0;
        if (get(&block)) {
            give(block);
            return now() - start;
        }
        usleep(10000);
    } while (now() - start < patience);
    return -1;
}

static void hold_part(void)
{
    BLOCK block = 0;
    size = limit / PARTS;
    if (begin() || !get(&block))
        _exit(0);
    __atomic_fetch_add(&shared->parts, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause();
}

/* Gets one after the other, until it is refused one after so many. */
static int parts_to_be_had(int wanted, double patience)
{
    int had = 0;
    double start = now();
    size = limit / PARTS;
    while (!begin() && had <= PARTS && now() - start < patience) {
        BLOCK block = 0;
        if (get(&block))
            had++;
        else if (had >= wanted)
            break;
        else
            usleep(10000);
    }
    return had;
}

/* Says nothing where not all get their part. */
static void some_are_killed(double patience)
{
    pid_t child[HOLDERS] = {0};
    int count = 0, living = HOLDERS / 2, is_ended = 0;
    for (; count < HOLDERS && !is_ended; count++) {
        if ((child[count] = fork()) == 0)
            hold_part();
        while (!is_ended && __atomic_load_n(&shared->parts, __ATOMIC_SEQ_CST) <= count)
            is_ended = waitpid(child[count], NULL, WNOHANG) || usleep(1000);
    }
    for (int i = 1; i < count; i += 2)
        kill(child[i], SIGKILL), waitpid(child[i], NULL, 0);
    if (!is_ended && fork() == 0) {
        printf("parts %d\n", living + parts_to_be_had(PARTS - living, patience));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    for (int i = 0; i < count; i += 2)
        kill(child[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
}

int main(int count, char **told)
{
    double patience = count > 2 ? atof(told[2]) : 5;
    pthread_barrierattr_t kind;
    pid_t holder;
    int status = 0;

    limit = count > 1 ? strtoull(told[1], NULL, 10) : 1 << 28;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_init(&kind);
    pthread_barrierattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->line, &kind, PROCESSES);
    holder = fork();
    if (holder == 0)
        hold();
    while (!__atomic_load_n(&shared->holds, __ATOMIC_SEQ_CST))
        if (waitpid(holder, &status, WNOHANG) || usleep(1000))
            return status ? 3 : 0;
    if (fork() == 0) {
        size_t before = begin() ? 0 : taken();
        printf("sees %zu\n", before);
        fflush(stdout);
        kill(holder, SIGKILL);
        if (before >= limit / 2)
            printf("back %d\n", (int)(1000 * (shared->back = until_back(patience))));
        fflush(stdout);
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    if (shared->back >= 0)
        some_are_killed(patience);
    return all_at_once();
}
