/* What comes after dlclose of the hook library: a thread ends that has made calls by it, the driver is called as before,
   and the program ends.
   Arguments: the library. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) ((__typeof__(&name))found(#name, (void *)name))

static void *library;

static void *found(const char *name, void *drivers)
{
    void *address = library ? dlsym(library, name) : NULL;
    return address ? address : drivers;
}

/* WORK */

static pthread_barrier_t called, closed;

static void *call_and_stay(void *unused)
{
    (void)unused;
    start();
    work();
    pthread_barrier_wait(&called);
    pthread_barrier_wait(&closed);
    return NULL;
}

/* A debugger stops here, and shows why. */
static __attribute__((noinline)) int not_opened(const char *why)
{
    puts(why);
    return 3;
}

int main(int count, char **words)
{
    pthread_t thread;

    library = dlopen(count > 1 ? words[1] : "libcuda.so.1", RTLD_NOW);
    if (!library)
        return not_opened(dlerror());
    start();
    work();
    pthread_barrier_init(&called, NULL, 2);
    pthread_barrier_init(&closed, NULL, 2);
    pthread_create(&thread, NULL, call_and_stay, NULL);
    pthread_barrier_wait(&called);
    dlclose(library);
    library = NULL;
    pthread_barrier_wait(&closed);
    pthread_join(thread, NULL);
    usleep(300000);
    work();
    return 0;
}
