/* Another thread makes a call of its own between each two instructions of a hook library in this thread's call. So it does
 * not take luck to see that both use the same memory. */
#include "contract/contract.h"
#include "contract/other_threads.h"
#include "contract/stepping.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

enum { MOST_CALLS = 300, MOST_PLACES = 4000 };

static void (*other_call)(void), (*other_first)(void);
static pid_t other_thread;
static sem_t asked, done;
static unsigned calls, answered_calls, places;
static bool is_ready;

/* While it has not answered nothing more is asked of it: the stepped thread goes on alone. */
static bool let_the_other_call(unsigned long at, bool is_after_another)
{
    (void)at, (void)is_after_another;
    if (answered_calls < calls && sem_trywait(&done) == 0)
        answered_calls++;
    if (answered_calls == calls) {
        calls++;
        sem_post(&asked);
        answered_calls += other_thread_answers(&done, other_thread);
    }
    return calls < MOST_CALLS && places++ < MOST_PLACES;
}

static void *call_when_asked(void *unused)
{
    other_thread = gettid();
    other_first();
    sem_post(&done);
    while (sem_wait(&asked) == 0) {
        other_call();
        sem_post(&done);
    }
    return unused;
}

static void wait_for_the_other(void)
{
    while (sem_wait(&done))
        ;
}

bool between_begin(const char *path, void (*first)(void), void (*call)(void))
{
    pthread_t thread;
    if (!stepping_finds(path))
        return false;
    other_first = first;
    other_call = call;
    sem_init(&asked, 0, 0);
    sem_init(&done, 0, 0);
    if (pthread_create(&thread, NULL, call_when_asked, NULL))
        return false;
    wait_for_the_other();
    is_ready = true;
    return true;
}

void between_step(const void *function)
{
    if (is_ready)
        stepping_begins(function, let_the_other_call);
}

void between_end(void)
{
    if (!is_ready)
        return;
    stepping_ends();
    for (; answered_calls < calls; answered_calls++)
        wait_for_the_other();
    is_ready = false;
}
