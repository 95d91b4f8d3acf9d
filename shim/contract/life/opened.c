/* What a program does that loads the hook library by itself. Arguments: the library, the flags of dlopen, and how often
   it is closed and opened again before it is used. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
/* DECLARATIONS */

#define CALL(name) ((__typeof__(&name))found(#name, (void *)name))

static void *library;

static void *found(const char *name, void *drivers)
{
    void *address = dlsym(library, name);
    return address ? address : drivers;
}

/* WORK */

/* A debugger stops here, and shows why. */
static __attribute__((noinline)) int not_opened(const char *why)
{
    puts(why);
    return 3;
}

int main(int count, char **words)
{
    const char *path = count > 1 ? words[1] : "libcuda.so.1";
    int flags = count > 2 ? atoi(words[2]) : RTLD_NOW, again = count > 3 ? atoi(words[3]) : 0;

    for (; again >= 0; again--) {
        library = dlopen(path, flags);
        if (!library)
            return not_opened(dlerror());
        start();
        if (again)
            dlclose(library);
    }
    work();
    return 0;
}
