#include "cupti_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cupti_library cupti;

const char *cupti_said(CUptiResult result)
{
    const char *said = 0;
    return cupti.cuptiGetResultString(result, &said) == CUPTI_SUCCESS && said ? said : "an unknown error";
}

/* Of paths with colons between them the first that is this version's. */
static void *one_of(const char *paths)
{
    char path[4096];
    for (const char *end; paths && *paths; paths = *end ? end + 1 : end) {
        end = strchrnul(paths, ':');
        snprintf(path, sizeof path, "%.*s", (int)(end - paths), paths);
        const char *base = strrchr(path, '/');
        void *found = base && !strcmp(base + 1, CUPTI_SONAME) ? dlopen(path, RTLD_NOW) : 0;
        if (found)
            return found;
    }
    return 0;
}

/* The one that the program has anyway (PyTorch does) is taken first: two in a process would not both be served. */
static void *opened(void)
{
    void *found = dlopen(CUPTI_SONAME, RTLD_NOW | RTLD_NOLOAD);
    if (!found)
        found = one_of(getenv("GDBCUDA_GPU_CUPTI"));
    return found ? found : dlopen(CUPTI_SONAME, RTLD_NOW);
}

int cupti_load(char *why, unsigned long room)
{
    void *library = opened();
    if (!library) {
        snprintf(why, room, "no " CUPTI_SONAME " (%s)", dlerror());
        return 0;
    }
#define FIND(name)                                                                                                     \
    *(void **)&cupti.name = dlsym(library, #name);
#define REQUIRE(name)                                                                                                  \
    if (!cupti.name) {                                                                                                 \
        snprintf(why, room, CUPTI_SONAME " has no " #name);                                                            \
        return 0;                                                                                                      \
    }
    NEEDED(FIND)
    WANTED(FIND)
    FIND(cuptiActivityEnableRuntimeApi)
    FIND(cuptiActivityEnableDriverApi)
    NEEDED(REQUIRE)
    return 1;
}
