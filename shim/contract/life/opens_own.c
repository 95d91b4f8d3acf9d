/* A program that opens libraries by itself: one is in a folder of its own (RUNPATH), one is not loaded yet.
   Built twice: as a library with -shared -fPIC -DLIBRARY, and as a program that is linked against it. */
#ifdef LIBRARY
int own(void)
{
    return 1;
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

static long opened(const char *library, int flags)
{
    void *handle = dlopen(library, flags);
    return handle != NULL;
}

int main(void)
{
    static const char other[] = "libcudart.so.13";
    char path[4096], library[4200];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    path[length < 0 ? 0 : length] = 0;
    snprintf(library, sizeof library, "%s-library.so", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    start();
    work();
    say("opened-from-own-folder", opened(library, RTLD_NOW));
    say("opened-if-loaded", opened(other, RTLD_LAZY | RTLD_NOLOAD));
    say("opened-for-itself", opened(other, RTLD_LAZY | RTLD_LOCAL));
    say("found-by-others", dlsym(RTLD_DEFAULT, "cudaDriverGetVersion") != NULL);
    say("opened-itself", dlopen(NULL, RTLD_LAZY) == dlopen(NULL, RTLD_LAZY));
    return 0;
}
#endif
