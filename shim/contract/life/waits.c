/* A thread waits in the driver until its stream has done its work. Meanwhile another one makes calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { LONGEST = 2000 }; /* milliseconds until the thread is in the driver; a real one has nothing to wait for */

static void *in_stream(void *unused)
{
    start();
    CALL(cuStreamSynchronize)(NULL);
    return unused;
}

static void *in_context(void *unused)
{
    start();
    CALL(cuCtxSynchronize)();
    return unused;
}

/* The driver writes into the file, and waits as long as it is open here. */
static void meanwhile(void *(*wait)(void *), const char *function)
{
    char answer[80];
    struct stat found = {0};
    pthread_t thread;
    int file = memfd_create("waits", 0);

    snprintf(answer, sizeof answer, "%s while=/proc/self/fd/%d", function, file);
    setenv("GDBCUDA_STANDIN_ANSWER", answer, 1);
    pthread_create(&thread, NULL, wait, NULL);
    for (int i = 0; i < LONGEST && fstat(file, &found) == 0 && found.st_size == 0; i++)
        usleep(1000);
    puts(function);
    fflush(stdout);
    work();
    close(file);
    pthread_join(thread, NULL);
}

int main(void)
{
    start();
    loud = 0;
    meanwhile(in_stream, "cuStreamSynchronize");
    meanwhile(in_context, "cuCtxSynchronize");
    return 0;
}
