/* A parent and two children: one keeps the environment, one starts without LD_PRELOAD and so without a hook library.
   Each says how much memory it believes the device has. Exit status 0, or 2 if anything failed. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_sample.h"

static void show_memory(const char *who)
{
    size_t available, total;
    use_first_device();
    must("cuMemGetInfo_v2", cuMemGetInfo_v2(&available, &total));
    printf("%-26s %zu MiB\n", who, total / MiB);
    fflush(stdout);
}

static void become(const char *who)
{
    execl("/proc/self/exe", "fork_exec", who, (char *)NULL);
    _exit(2);
}

static int run_child(const char *who, int keep_preload)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!keep_preload)
            unsetenv("LD_PRELOAD");
        become(who);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv)
{
    show_memory(argc > 1 ? argv[1] : "parent");
    if (argc > 1)
        return 0;
    return run_child("child", 1) && run_child("child without LD_PRELOAD", 0) ? 0 : 2;
}
