/* Calls the driver, and then does what its first word says. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlfcn.h>

int cuInit(unsigned flags), cuDeviceGet(int *device, int ordinal), cuDeviceGetCount(int *count);
int cuMemAlloc_v2(unsigned long *block, unsigned long size) __attribute__((weak));

static void ask(long count)
{
    int device;
    for (long i = 0; i < count; i++)
        cuDeviceGet(&device, (int)(i % 2));
}

static void *in_thread(void *count)
{
    ask((long)count);
    return NULL;
}

static void in_child(long count)
{
    pid_t child = fork();
    if (!child) {
        ask(count);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int words_count, char **words)
{
    const char *what = words[1];
    long count = words_count > 2 ? atol(words[2]) : 0;
    cuInit(0);
    ask(strcmp(what, "one-by-one") ? count : 0);
    if (!strcmp(what, "kill"))
        raise(SIGKILL);
    if (!strcmp(what, "abort"))
        abort();
    if (!strcmp(what, "crash"))
        *(volatile int *)8 = 1;
    if (!strcmp(what, "crash-inside"))
        cuDeviceGetCount((int *)8);
    if (!strcmp(what, "fork"))
        for (int i = 0; i < 3; i++)
            in_child(count + i);
    if (!strcmp(what, "close-all"))
        for (int file = 3; file < 100; file++)
            close(file);
    if (!strcmp(what, "threads"))
        for (long i = 0; i < 5; i++) {
            pthread_t made;
            pthread_create(&made, NULL, in_thread, (void *)(count + i));
            pthread_join(made, NULL);
        }
    if (!strcmp(what, "one-by-one"))
        for (long i = 0; i < count; i++) {
            pthread_t made;
            pthread_create(&made, NULL, in_thread, (void *)2);
            pthread_join(made, NULL);
        }
    if (!strcmp(what, "names")) {
        printf("%d %d %d %d\n", dlsym(RTLD_DEFAULT, "cuInit") != NULL, dlsym(RTLD_DEFAULT, "nvmlInit_v2") != NULL,
               dlsym(RTLD_DEFAULT, "cudaMalloc") != NULL, dlsym(RTLD_DEFAULT, "la_version") == NULL);
        printf("%d\n", &cuMemAlloc_v2 != NULL);
    }
    if (!strncmp(what, "confined", 8)) {
        /* Reading, writing and ending alone. */
        int failed = strcmp(what, "confined-by-syscall") ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                                                         : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
        ask(count);
        syscall(SYS_exit, failed ? 1 : 0);
    }
    if (!strcmp(what, "exit"))
        return (int)count;
    ask(strcmp(what, "one-by-one") ? count : 0);
    return 0;
}
