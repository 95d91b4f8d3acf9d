/* What a signal handler asks while the thread is in any other call. There is no context: the driver refuses at once and
   takes no lock, so a lock that is waited for is the hook library's. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

static volatile sig_atomic_t asked;

static void handle(int number)
{
    (void)number;
    ask();
    asked = asked + 1;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    time_t end = time(NULL) + 2;

    CALL(cuInit)(0);
    refused();
    loud = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (time(NULL) < end && asked < 2000)
        refused();
    setitimer(ITIMER_REAL, &never, NULL);
    return asked == 0;
}
