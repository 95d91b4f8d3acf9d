/* WRONG: looks for the real dlsym with dlsym, which is itself.
   Shows: the first dlsym of the program never comes back; it ends with SIGSEGV, the stack is full of dlsym.
   conform: start: a program does not begin with it */
#include <dlfcn.h>

void *dlsym(void *handle, const char *symbol)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))dlsym(RTLD_NEXT, "dlsym");
    return real(handle, symbol);
}
