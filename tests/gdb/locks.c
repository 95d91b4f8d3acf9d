/* Threads that wait for locks of every kind, ABBA among them. look() is called when all others sleep in the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER, own, busy, robust;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER, read_by_two = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both, holding;
static sem_t gate;
static int locked_file, flocked_file;
static void *first_second(void *n) { pthread_mutex_lock(&first); pthread_barrier_wait(&both); pthread_mutex_lock(&second); return n; }
static void *second_first(void *n) { pthread_mutex_lock(&second); pthread_barrier_wait(&both); pthread_mutex_lock(&first); return n; }
static void *twice(void *n) { pthread_mutex_lock(&own); pthread_mutex_lock(&own); return n; }
static void *holder(void *n) {
    pthread_mutex_lock(&busy); pthread_mutex_lock(&busy); pthread_mutex_lock(&robust);
    pthread_rwlock_wrlock(&written); pthread_rwlock_rdlock(&read_by_two); pthread_rwlock_rdlock(&read_by_two);
    pthread_barrier_wait(&holding); sleep(600); return n;
}
static void *wait_busy(void *n) { pthread_mutex_lock(&busy); return n; }
static void *wait_busy_timed(void *n) {
    struct timespec until; clock_gettime(CLOCK_REALTIME, &until); until.tv_sec += 600;
    pthread_mutex_timedlock(&busy, &until); return n;
}
static void *wait_robust(void *n) { pthread_mutex_lock(&robust); return n; }
static void *wait_written(void *n) { pthread_rwlock_rdlock(&written); return n; }
static void *write_written(void *n) { pthread_rwlock_wrlock(&written); return n; }
static void *write_read(void *n) { pthread_rwlock_wrlock(&read_by_two); return n; }
static void *wait_gate(void *n) { sem_wait(&gate); return n; }
static void *wait_signal(void *n) { pthread_mutex_lock(&of_condition); pthread_cond_wait(&signalled, &of_condition); return n; }
static void *wait_flock(void *n) { flock(flocked_file, LOCK_EX); return n; }
static void *wait_fcntl(void *n) { lockf(locked_file, F_LOCK, 0); return n; }
static void *wait_end(void *of) { pthread_join(*(pthread_t *)of, 0); return 0; }
void look(void) {}
static int sleeping(void) {
    DIR *folder = opendir("/proc/self/task"); int count = 0; char path[300], state;
    for (struct dirent *one; (one = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", one->d_name);
        FILE *file = fopen(path, "r");
        if (one->d_name[0] != '.' && file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1) count += state == 'S';
        if (file) fclose(file);
    }
    closedir(folder);
    return count;
}
static pthread_t made[32];
static int count;
static void begin(void *(*work)(void *), void *with) { pthread_create(made + count++, 0, work, with); }
static void settle(void) {
    for (int quiet = 0; quiet < 5; quiet = sleeping() == count ? quiet + 1 : 0) usleep(20000);
}
int main(int argc, char **argv) {
    pthread_mutexattr_t how; pthread_mutexattr_init(&how);
    pthread_mutex_init(&own, &how);
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_init(&busy, &how);
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ERRORCHECK); pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED); pthread_mutex_init(&robust, &how);
    pthread_barrier_init(&both, 0, 2); pthread_barrier_init(&holding, 0, 2); sem_init(&gate, 0, 0);
    locked_file = open(argv[1], O_RDWR | O_CREAT, 0666); flocked_file = open(argv[2], O_RDWR | O_CREAT, 0666);
    flock(open(argv[2], O_RDWR), LOCK_EX);
    begin(first_second, 0); begin(second_first, 0); begin(twice, 0); begin(holder, 0);
    pthread_barrier_wait(&holding);
    begin(wait_busy, 0); begin(wait_busy_timed, 0); begin(wait_robust, 0); begin(wait_written, 0); begin(write_written, 0);
    begin(write_read, 0); begin(wait_gate, 0); begin(wait_gate, 0); begin(wait_signal, 0); begin(wait_flock, 0);
    begin(wait_fcntl, 0); begin(wait_end, made + 3);
    settle(); look(); _exit(0);
}
