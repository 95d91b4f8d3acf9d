/* Confines itself, past libc or not, in front of its first call or behind it: from there on it may write and end. */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int cuInit(unsigned flags), cuDeviceGet(int *device, int ordinal), cuMemAlloc_v2(unsigned long *block, unsigned long size);

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(write), ALLOW(exit), ALLOW(exit_group), ALLOW(futex), ALLOW(madvise), ALLOW(rt_sigprocmask),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

#ifdef PAST_LIBC
static long call(long number, long first, long second, long third)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}
#else
#define call syscall
#endif

void confine(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program);
}

#ifndef PLUGIN
static void ask(int count)
{
    int device;
    for (int i = 0; i < count; i++)
        cuDeviceGet(&device, 0);
}

static int begin[2];

static void *later(void *ignored)
{
    char byte;
    (void)!read(begin[0], &byte, 1);
    ask(5);
    return ignored;
}

static int has(int count, char **words, const char *word)
{
    for (int i = 1; i < count; i++)
        if (!strcmp(words[i], word))
            return 1;
    return 0;
}

int main(int count, char **words)
{
    unsigned long block;
    pthread_t thread;
    pid_t child = 0;
    void (*confines)(void) = confine;
    if (has(count, words, "before"))
        cuInit(0);
    if (has(count, words, "plugin"))
        *(void **)&confines = dlsym(dlopen(words[1], RTLD_NOW), "confine");
    if (has(count, words, "thread"))
        (void)!pipe(begin), pthread_create(&thread, NULL, later, NULL);
    if (has(count, words, "fork"))
        child = fork();
    if (has(count, words, "strict"))
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else
        confines();
    ask(100);
    cuMemAlloc_v2(&block, 1 << 20);
    if (has(count, words, "thread"))
        (void)!write(begin[1], "", 1), pthread_join(thread, NULL);
    (void)!write(1, "done\n", 5);
    syscall(has(count, words, "strict") ? SYS_exit : SYS_exit_group, child ? 7 : 0);
}
#endif
