/* A signal that the program waits for: each thread of its own has it blocked. One of another's that has not takes it. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { ROUNDS = 10, PAUSE = 20000 }; /* microseconds: a thread that begins has all signals blocked for a while */

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
    for (int i = 0; i < ROUNDS; i++) {
        int number = numbers[i % (sizeof numbers / sizeof *numbers)];
        usleep(PAUSE);
        kill(getpid(), number);
        say("signal-received", sigtimedwait(&waited, NULL, &patience));
    }
    return 0;
}
