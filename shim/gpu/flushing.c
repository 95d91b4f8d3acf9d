#include "flushing.h"
#include "asking.h"
#include "records.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

enum { EVERY = 100, LONGEST_AT_END = 10000, LONGEST_AT_SUDDEN_END = 2000 /* milliseconds */ };
enum { NOTHING, FINISH, END };

static struct {
    sem_t wanted, done;
    int what, is_there;
} flushing;

/* Posted in time? */
static int comes(sem_t *what, long milliseconds)
{
    struct timespec until = {0, 0};
    clock_gettime(CLOCK_REALTIME, &until);
    long nanoseconds = until.tv_nsec + milliseconds % 1000 * 1000000;
    until.tv_sec += milliseconds / 1000 + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    int result;
    while ((result = sem_timedwait(what, &until)) && errno == EINTR)
        ;
    return !result;
}

static void *flush(void *unused)
{
    (void)unused;
    for (int what = NOTHING; what != END;) {
        what = comes(&flushing.wanted, EVERY) ? __atomic_exchange_n(&flushing.what, NOTHING, __ATOMIC_SEQ_CST) : NOTHING;
        if (what == NOTHING) {
            asking_flush();
            continue;
        }
        asking_finish();
        sem_post(&flushing.done);
    }
    return 0;
}

/* It gets no signal: those are the program's. */
void flushing_begin(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (sem_init(&flushing.wanted, 0, 0) || sem_init(&flushing.done, 0, 0))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    flushing.is_there = !pthread_create(&thread, 0, flush, 0);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    if (!flushing.is_there) {
        records_remark("records come late: no thread can be made");
        return;
    }
    pthread_setname_np(thread, "gdbcuda-gpu");
    pthread_detach(thread);
}

/* Semaphores alone: this may be in the handler of a signal. */
static void ask_for(int what, long milliseconds)
{
    if (!records_are_own() || !flushing.is_there)
        return;
    while (!sem_trywait(&flushing.done))
        ; /* for somebody who did not wait so long */
    __atomic_store_n(&flushing.what, what, __ATOMIC_SEQ_CST);
    sem_post(&flushing.wanted);
    comes(&flushing.done, milliseconds);
}

void flushing_finish(void)
{
    int before = errno;
    ask_for(FINISH, LONGEST_AT_SUDDEN_END);
    errno = before;
}

void flushing_end(void)
{
    ask_for(END, LONGEST_AT_END);
    if (!flushing.is_there)
        asking_finish();
    flushing.is_there = 0;
}
