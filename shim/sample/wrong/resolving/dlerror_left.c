/* WRONG: looks for the name in itself first, and leaves what dlerror has to say of that.
   Shows: a program that asks dlerror after each dlsym believes that nothing is there.
   conform: resolving/names of others: after a dlsym that finds the name dlerror says something */
#include "sample/next.h"

static void *(*real(void))(void *, const char *)
{
    return (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
}

void *dlsym(void *handle, const char *symbol)
{
    void *found = real()(handle, symbol);
    if (found && handle != RTLD_NEXT)
        real()(RTLD_NEXT, "hook_replacement_of_it");
    return found;
}

CUresult cuDriverGetVersion(int *driverVersion)
{
    return ((CUresult(*)(int *))real()(RTLD_NEXT, "cuDriverGetVersion"))(driverVersion);
}
