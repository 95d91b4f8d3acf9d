/* What comes after dlclose of the hook library: the driver is called as before, and the program ends.
   Arguments: the library. */
#include <dlfcn.h>
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

int main(int count, char **words)
{
    library = dlopen(count > 1 ? words[1] : "libcuda.so.1", RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 3;
    }
    start();
    work();
    dlclose(library);
    library = NULL;
    usleep(300000);
    work();
    return 0;
}
