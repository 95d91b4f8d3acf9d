/* torture (confined): A thread that may only read, write and leave, and goes on calling. */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void *strict_thread(void *argument)
{
    struct dice dice = {(u64)argument};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    for (int i = 0; i < 100; i++) {
        invoke(&dice, 1);
        resolve(&dice);
        copy(&dice);
    }
    say("= strict: done");
    syscall(SYS_exit, 0);
    return NULL;
}

static void part_seccomp_strict(struct dice *dice)
{
    pthread_t thread;
    pthread_create(&thread, NULL, strict_thread, (void *)roll(dice));
    pthread_join(thread, NULL);
}
