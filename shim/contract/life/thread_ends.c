/* What threads leave behind that are cancelled in a call, or end and call in the destructor of their own data. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { ROUNDS = 60, THREADS = 4 };

static pthread_key_t key;

static void at_end(void *unused)
{
    (void)unused;
    refused();
}

static void *go_on(void *ends)
{
    pthread_setspecific(key, &key);
    do {
        refused();
        pthread_testcancel();
    } while (!ends);
    pthread_exit(NULL);
}

int main(void)
{
    pthread_t thread[THREADS];

    CALL(cuInit)(0);
    refused();
    loud = 0;
    pthread_key_create(&key, at_end);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, go_on, i % 2 ? &key : NULL);
        usleep(500);
        for (int i = 0; i < THREADS; i += 2)
            pthread_cancel(thread[i]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    loud = 1;
    refused();
    return 0;
}
