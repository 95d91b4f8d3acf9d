/* How the wrong libraries of the groups come to the driver's function. */
#include <dlfcn.h>
#include <stddef.h>

#include "gdbcuda_api.h"

#define NEXT(name) ((__typeof__(&name))next_function(#name))

/* A program that loads a library by itself has the driver nowhere behind it. */
static inline void *next_function(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    return next ? next : dlsym(dlopen("libcuda.so.1", RTLD_LAZY), name);
}
