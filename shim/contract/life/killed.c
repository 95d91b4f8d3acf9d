/* What is killed: several threads in any call. With an argument it is what comes after: it does nothing special. */
#include <pthread.h>
#include <stdio.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { THREADS = 4 };

static void *go_on(void *unused)
{
    start();
    for (;;)
        work();
    return unused;
}

int main(int count, char **told)
{
    pthread_t thread;

    (void)told;
    if (count > 1) {
        start();
        work();
        return 0;
    }
    puts("works");
    fflush(stdout);
    loud = 0;
    for (int i = 1; i < THREADS; i++)
        pthread_create(&thread, NULL, go_on, NULL);
    go_on(NULL);
    return 0;
}
