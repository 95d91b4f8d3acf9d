/* Where the real functions are. Looked for when first needed, and from any thread: a search has no state, and two
   threads that search at once find the same. In order:
     1. what dlsym or cuGetProcAddress once returned to the program (hook_remember);
     2. RTLD_NEXT: the library that the program is linked against, or the next hook library;
     3. the vendor's library if it was loaded since, which RTLD_NEXT does not see;
     4. for driver and NVML: the vendor's library, loaded now (a monitor thread may want NVML in a program without it). */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"

static const char *const file_prefixes[] = {
    [HOOK_DRIVER] = "libcuda.so", [HOOK_RUNTIME] = "libcudart", [HOOK_NVML] = "libnvidia-ml.so"};

static int compare_names(const void *name, const void *entry)
{
    return strcmp(name, ((const struct hook_entry *)entry)->name);
}

struct hook_entry *hook_find(const char *name)
{
    return bsearch(name, hook_entries, HOOK_ENTRIES, sizeof *hook_entries, compare_names);
}

static bool is_file_of(enum hook_api api, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strncmp(name, file_prefixes[api], strlen(file_prefixes[api])) == 0;
}

static const char *file_of(void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

bool hook_is_vendors(void *address)
{
    const char *file = file_of(address);
    return is_file_of(HOOK_DRIVER, file) || is_file_of(HOOK_RUNTIME, file) || is_file_of(HOOK_NVML, file);
}

void *hook_own(const char *name)
{
    static void *self;
    void *handle = __atomic_load_n(&self, __ATOMIC_ACQUIRE);
    if (!handle) {
        handle = dlopen(file_of(hook_entries), RTLD_LAZY | RTLD_NOLOAD);
        __atomic_store_n(&self, handle, __ATOMIC_RELEASE);
    }
    return handle ? quiet_dlsym(handle, name) : NULL;
}

bool hook_is_own(void *address)
{
    return strcmp(file_of(address), file_of(hook_entries)) == 0;
}

/* The library stays loaded from now on: its address would outlive a dlclose here. */
void hook_remember(struct hook_entry *entry, void *real)
{
    if (__atomic_load_n(&entry->real, __ATOMIC_ACQUIRE) || hook_is_own(real))
        return;
    dlopen(file_of(real), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    __atomic_store_n(&entry->real, real, __ATOMIC_RELEASE);
}

struct search {
    enum hook_api api;
    char path[4096];
};

static int note_path(struct dl_phdr_info *info, size_t size, void *search)
{
    struct search *wanted = search;
    (void)size;
    if (!is_file_of(wanted->api, info->dlpi_name) || strlen(info->dlpi_name) >= sizeof wanted->path)
        return 0;
    strcpy(wanted->path, info->dlpi_name);
    return 1;
}

static void *in_loaded_library(const struct hook_entry *entry)
{
    struct search search = {.api = entry->api};
    if (!dl_iterate_phdr(note_path, &search))
        return NULL;
    void *library = dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
    return library ? quiet_dlsym(library, entry->name) : NULL;
}

static void *in_library_loaded_now(const struct hook_entry *entry)
{
    if (entry->api == HOOK_RUNTIME)
        return NULL; /* which of the versions? A program that calls the runtime has loaded it. */
    void *library = dlopen(entry->api == HOOK_DRIVER ? "libcuda.so.1" : "libnvidia-ml.so.1", RTLD_LAZY);
    if (!library)
        dlerror();
    return library ? quiet_dlsym(library, entry->name) : NULL;
}

static void *search_everywhere(struct hook_entry *entry)
{
    void *real = quiet_dlsym(RTLD_NEXT, entry->name);
    if (!real)
        real = in_loaded_library(entry);
    if (!real)
        real = in_library_loaded_now(entry);
    if (real)
        hook_remember(entry, real);
    else
        hook_log("no library has %s", entry->name);
    return real;
}

void *hook_real(int entry)
{
    void *real = __atomic_load_n(&hook_entries[entry].real, __ATOMIC_ACQUIRE);
    return real ? real : search_everywhere(&hook_entries[entry]);
}
