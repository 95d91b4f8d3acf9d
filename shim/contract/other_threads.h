#ifndef GDBCUDA_OTHER_THREADS_H
#define GDBCUDA_OTHER_THREADS_H
#include <semaphore.h>
#include <stdbool.h>
#include <sys/types.h>

/* Waits for the answer of another thread, or process. False where that waits itself: it sleeps, or turns in circles. */
bool other_thread_answers(sem_t *answer, pid_t from);
#endif
