/* How programs come here: those that are linked with libcuda find the functions of hook.c first, because the library
   is preloaded. Others (the CUDA runtime, PyTorch) load libcuda and ask for its functions by name: here. They get ours
   exactly where the driver's answer is the function that ours stands in for. */
#define _GNU_SOURCE
#include "hook.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *lookup(void *handle, const char *name);

/* dlsym itself is asked for by version: by its name we would find our own. */
static lookup *real_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    static lookup *found;
    for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
        *(void **)&found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return found;
}

static void *drivers_or_null(const char *name)
{
    static void *libcuda;
    if (!libcuda)
        libcuda = dlopen("libcuda.so.1", RTLD_LAZY);
    return libcuda ? real_dlsym()(libcuda, name) : NULL;
}

void *drivers(const char *name)
{
    void *found = drivers_or_null(name);
    if (!found) {
        fprintf(stderr, "hook: no %s in libcuda.so.1\n", name);
        abort();
    }
    return found;
}

static const struct hook *named(const char *name)
{
    for (const struct hook *one = hooks; one->name; one++)
        if (!strcmp(one->name, name))
            return one;
    return NULL;
}

EXPORT void *dlsym(void *handle, const char *name)
{
    const struct hook *one = handle == RTLD_NEXT ? NULL : named(name);
    if (one) {
        void *answer = real_dlsym()(handle, name);
        return answer && answer == drivers_or_null(name) ? one->mine : answer;
    }
    return real_dlsym()(handle, name); /* built as a jump: RTLD_NEXT means the library behind the one that asks */
}

/* Which of its functions the driver answers depends on version and flags, so it is asked first. */
static void put_ours(void **pfn)
{
    for (const struct hook *one = hooks; *pfn && one->name; one++)
        if (*pfn == drivers_or_null(one->name))
            *pfn = one->mine;
}

EXPORT int cuGetProcAddress(const char *symbol, void **pfn, int version, unsigned long long flags)
{
    int result = DRIVERS(cuGetProcAddress)(symbol, pfn, version, flags);
    if (!result)
        put_ours(pfn);
    return result;
}

EXPORT int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, unsigned long long flags, int *status)
{
    int result = DRIVERS(cuGetProcAddress_v2)(symbol, pfn, version, flags, status);
    if (!result)
        put_ours(pfn);
    return result;
}
