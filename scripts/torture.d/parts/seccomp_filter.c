/* torture (confined): A thread with a filter as containers have it: most calls end the process, some answer EPERM. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void *filtered_thread(void *argument)
{
    struct dice dice = {(u64)argument};
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_futex), ALLOW(SYS_rt_sigreturn),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, (u64)argument & 1 ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        say("= filter: %d", errno);
    for (int i = 0; i < 100; i++) {
        invoke(&dice, 1);
        resolve(&dice);
        copy(&dice);
    }
    say("= filter: done");
    syscall(SYS_exit, 0);
    return NULL;
}

static void part_seccomp_filter(struct dice *dice)
{
    pthread_t thread;
    pthread_create(&thread, NULL, filtered_thread, (void *)roll(dice));
    pthread_join(thread, NULL);
}
