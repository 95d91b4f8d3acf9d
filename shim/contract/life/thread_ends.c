/* What threads leave behind that are cancelled in a call, behind each instruction there that others could see, or end and
   call in the destructor of their own data. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* DECLARATIONS */

/* STEPPING */

#define CALL(name) name

/* WORK */

enum { ROUNDS = 30, THREADS = 4, MOST_CANCELLED = 200 };

static pthread_key_t key;
static unsigned long places[MOST_CANCELLED];
static int count_of_places;

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

static bool note_place(unsigned long at, bool is_after_another)
{
    if (is_after_another && is_new_place(at) && count_of_places < MOST_CANCELLED)
        places[count_of_places++] = at;
    return true;
}

/* It ends where it can be cancelled next. */
static bool cancel(unsigned long at, bool is_after_another)
{
    (void)at, (void)is_after_another;
    pthread_cancel(pthread_self());
    return false;
}

static void *end_at(void *place)
{
    stepping_waits_at(*(unsigned long *)place, cancel);
    work();
    stepping_ends();
    return NULL;
}

static void find_places(void)
{
    count_of_places = 0;
    stepping_begins(NULL, note_place);
    work();
    stepping_ends();
}

/* Where one was cancelled is asked for what it may have left held. */
static void in_steps(void)
{
    pthread_t thread;
    find_places();
    for (int i = 0; i < count_of_places; i++) {
        pthread_create(&thread, NULL, end_at, &places[i]);
        pthread_join(thread, NULL);
        work();
    }
}

/* Without a context: the driver refuses before it takes a lock. */
static void by_chance(void)
{
    pthread_t thread[THREADS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, go_on, i % 2 ? &key : NULL);
        usleep(500);
        for (int i = 0; i < THREADS; i += 2)
            pthread_cancel(thread[i]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
}

int main(int count, char **told)
{
    bool is_stepped = count > 2 && stepping_finds(told[1]);

    pthread_key_create(&key, at_end);
    for (int state = 0; state < states(count, told); state++) {
        reach(state);
        if (state == WITHOUT_CONTEXT)
            quietly(by_chance);
        if (is_stepped)
            quietly(in_steps);
        refused();
    }
    return 0;
}
