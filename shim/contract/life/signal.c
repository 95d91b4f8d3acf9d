/* What a signal handler asks while the thread is in any other call, before each instruction that it has there in the hook
   library. No thread is in the driver then, so a lock that is waited for is the hook library's. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
/* DECLARATIONS */

/* STEPPING */

#define CALL(name) name

/* WORK */

enum { MOST_ASKED = 2000 };
static volatile sig_atomic_t asked;

static void handle(int number)
{
    (void)number;
    ask();
    asked = asked + 1;
}

static bool interrupt(unsigned long at, bool is_after_another)
{
    (void)is_after_another;
    if (is_new_place(at))
        raise(SIGALRM);
    return true;
}

static void in_steps(void)
{
    stepping_begins(NULL, interrupt);
    work();
    stepping_ends();
}

/* Without a context: the driver refuses before it takes a lock. */
static void by_chance(void)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    time_t end = time(NULL) + 2;

    setitimer(ITIMER_REAL, &often, NULL);
    while (time(NULL) < end && asked < MOST_ASKED)
        refused();
    setitimer(ITIMER_REAL, &never, NULL);
}

int main(int count, char **told)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    bool is_stepped = count > 2 && stepping_finds(told[1]);

    sigaction(SIGALRM, &action, NULL);
    for (int state = 0; state < states(count, told); state++) {
        reach(state);
        if (is_stepped)
            quietly(in_steps);
        else if (state == WITHOUT_CONTEXT)
            quietly(by_chance);
    }
    return !is_stepped && asked == 0;
}
