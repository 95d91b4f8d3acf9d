/* What of the process is the program's own, and as it was when it began. */
#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* DECLARATIONS */

static long calls;
#define CALL(name) (calls++, name)

/* WORK */

enum { QUARTERS = 4, ROUNDS = 25, A_LEAK = 1 << 10 }; /* a note of a call takes less */

static long handler_of(int number)
{
    struct sigaction found;
    if (sigaction(number, NULL, &found))
        return -1;
    return found.sa_handler == SIG_DFL ? 0 : found.sa_handler == SIG_IGN ? 1 : 2;
}

static long entries(const char *folder)
{
    long count = 0;
    DIR *opened = opendir(folder);
    while (opened && readdir(opened))
        count++;
    if (opened)
        closedir(opened);
    return count;
}

/* What the program executes has them too, and keeps files open that nobody knows of. */
static long descriptors_for_exec(void)
{
    enum { MOST = 1024 };
    long count = 0;
    for (int i = 0; i < MOST; i++) {
        int flags = fcntl(i, F_GETFD);
        count += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return count;
}

static long address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static long heap(void)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 found = mallinfo2();
    return (long)(found.uordblks + found.hblkhd);
#else
    return 0;
#endif
}

/* A thread that allocates for the first time gets an arena of 64 MiB: no more than one quarter has it. */
static int maps_in_a_quarter(void)
{
    long mapped = address_space() - heap();
    for (int i = 0; i < ROUNDS; i++)
        work();
    return address_space() - heap() - mapped >= ROUNDS * sysconf(_SC_PAGESIZE) * 3 / 4;
}

/* The first calls may have needed some; later ones what a note of a call takes. */
static void gained(void)
{
    long descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task"), used = heap();
    int quarters = 0;
    loud = 0;
    calls = 0;
    for (int i = 0; i < QUARTERS; i++)
        quarters += maps_in_a_quarter();
    loud = 1;
    say("descriptors-gained", entries("/proc/self/fd") - descriptors);
    say("threads-gained", entries("/proc/self/task") - threads);
    say("mapped-in-each-call", quarters == QUARTERS);
    say("memory-kept-in-each-call", heap() - used >= calls * A_LEAK);
}

/* As the kernel gave it to the process. */
static long variables_changed(void)
{
    extern char **environ;
    static char given[1 << 17];
    long changed = 0;
    FILE *file = fopen("/proc/self/environ", "r");
    size_t size = file ? fread(given, 1, sizeof given - 1, file) : sizeof given;
    if (file)
        fclose(file);
    for (char **one = environ; size < sizeof given - 1 && *one; one++, changed++)
        for (char *at = given; at < given + size; at += strlen(at) + 1)
            if (strcmp(at, *one) == 0) {
                changed--;
                break;
            }
    for (char *at = given; size < sizeof given - 1 && at < given + size; at += strlen(at) + 1)
        changed += strchr(at, '=') && !strncmp(at, "LD_PRELOAD=", 11) && !getenv("LD_PRELOAD");
    return changed;
}

static void of_thread(void)
{
    char name[16] = "";
    cpu_set_t processors;
    stack_t stack;
    int state, hash = 0;

    prctl(PR_GET_NAME, name);
    for (char *at = name; *at; at++)
        hash = 31 * hash + *at;
    say("thread-name", hash);
    say("processors", sched_getaffinity(0, sizeof processors, &processors) ? -1 : CPU_COUNT(&processors));
    say("signal-stack", sigaltstack(NULL, &stack) ? -1 : stack.ss_flags);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    say("cancel-state", state);
    say("rand", rand());
    say("drand48", (long)(1e6 * drand48()));
}

static void limits(void)
{
    static const int known[] = {RLIMIT_CORE, RLIMIT_STACK, RLIMIT_NOFILE, RLIMIT_AS};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        char text[16];
        struct rlimit limit;
        getrlimit((__typeof__(RLIMIT_CORE))known[i], &limit);
        snprintf(text, sizeof text, "limit-%d", known[i]);
        say(text, (long)limit.rlim_cur);
    }
}

static void look(void)
{
    char text[64], folder[4096];
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int i = 1; i < 32; i++) {
        snprintf(text, sizeof text, "handler-of-signal-%d", i);
        say(text, handler_of(i));
        snprintf(text, sizeof text, "signal-%d-blocked", i);
        say(text, sigismember(&blocked, i));
    }
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "descriptor-%d", i);
        say(text, fcntl(i, F_GETFD));
    }
    say("locale", strcmp(setlocale(LC_ALL, NULL), "C"));
    say("folder", getcwd(folder, sizeof folder) ? (long)strlen(folder) : -1);
    say("umask", (long)umask(0));
    say("dumpable", prctl(PR_GET_DUMPABLE));
    say("priority", getpriority(PRIO_PROCESS, 0));
    say("alarm", (long)alarm(0));
    say("descriptors-for-exec", descriptors_for_exec());
    say("output-buffer", (long)__fbufsize(stdout));
    say("child-to-wait-for", waitpid(-1, NULL, WNOHANG) >= 0);
    say("variables-changed", variables_changed());
    of_thread();
    limits();
}

int main(void)
{
    static char room[1 << 16];
    stack_t own = {.ss_sp = room, .ss_size = sizeof room};

    sigaltstack(&own, NULL);
    srand(7);
    srand48(7);
    start();
    work();
    look();
    gained();
    return 0;
}
