/* WRONG: asks dlerror itself after each dlsym, so that the program's dlerror has nothing to say.
   Shows: a program that takes NULL for a value, as dlsym(3) tells it to, believes that the name is there.
   conform: resolving/names of others: after a dlsym that finds nothing dlerror says nothing */
#include <stdio.h>
#include <stdlib.h>

#include "sample/next.h"

static void *(*real(void))(void *, const char *)
{
    return (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
}

void *dlsym(void *handle, const char *symbol)
{
    void *found = real()(handle, symbol);
    const char *error = dlerror();
    if (error && getenv("HOOK_DEBUG"))
        fprintf(stderr, "%s\n", error);
    return found;
}

CUresult cuDriverGetVersion(int *driverVersion)
{
    return ((CUresult(*)(int *))real()(RTLD_NEXT, "cuDriverGetVersion"))(driverVersion);
}
