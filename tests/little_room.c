/* little_room as|data THREADS: so many threads, each of which calls, and all are there at the same time. From now on the
 * process may map (or have for data) little more than their stacks need. Exit status 3 if one cannot be made. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK (8ul << 20)
#define MORE (24ul << 20) /* of 536 MiB for 64 threads; what rings may take is a 32th part */
#define MOST 256

int cuInit(unsigned flags), cuDeviceGet(int *device, int ordinal);
static pthread_barrier_t all;

static void *in_thread(void *nothing)
{
    int device;
    for (int i = 0; i < 40; i++)
        cuDeviceGet(&device, i % 2);
    pthread_barrier_wait(&all);
    return nothing;
}

/* Bytes: all that is mapped, and what of it is data. (proc(5)) */
static unsigned long used(int is_data)
{
    unsigned long pages[6] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    for (int i = 0; file && i < 6; i++)
        if (fscanf(file, "%lu", pages + i) != 1)
            exit(4);
    fclose(file);
    return pages[is_data ? 5 : 0] * 4096;
}

int main(int count, char **words)
{
    int is_data = count > 1 && !strcmp(words[1], "data"), threads = count > 2 ? atoi(words[2]) : 1;
    pthread_t made[MOST];
    pthread_attr_t stacks;
    struct rlimit limit;
    pthread_attr_init(&stacks);
    pthread_attr_setstacksize(&stacks, STACK);
    pthread_barrier_init(&all, NULL, (unsigned)threads + 1);
    cuInit(0);
    limit.rlim_cur = limit.rlim_max = used(is_data) + (unsigned long)threads * (STACK + 4096) + MORE;
    setrlimit(is_data ? RLIMIT_DATA : RLIMIT_AS, &limit);
    for (int i = 0; i < threads; i++)
        if (pthread_create(made + i, &stacks, in_thread, NULL))
            _exit(3);
    pthread_barrier_wait(&all);
    for (int i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
    return 0;
}
