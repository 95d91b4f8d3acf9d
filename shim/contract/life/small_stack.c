/* What a thread calls whose stack has 16 KiB more than the smallest one. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { MORE = 16 << 10 };

static void *run(void *unused)
{
    start();
    work();
    return unused;
}

int main(void)
{
    pthread_attr_t small;
    pthread_t thread;

    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, (size_t)sysconf(_SC_THREAD_STACK_MIN) + MORE))
        return 3;
    if (pthread_create(&thread, &small, run, NULL))
        return 3;
    pthread_join(thread, NULL);
    return 0;
}
