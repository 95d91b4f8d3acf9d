/* cuGetProcAddress, which the runtime and most newer programs use instead of dlsym. The same name means different
   functions: the caller says for which CUDA version and which kind of default stream it was compiled. The driver is
   asked first; what it gave is the function of the newest version that is not newer than the caller asked for (it
   refuses versions above its own). Exactly that one's wrapper is the answer, or the driver's if the table has none. */
#include <string.h>

#include "hook.h"

enum { PER_THREAD_STREAM = 2 /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */ };

static const struct hook_version *first_version(const char *base)
{
    size_t low = 0, high = HOOK_VERSIONS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(hook_versions[middle].base, base) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return &hook_versions[low];
}

/* Versions ascend, so the last that fits is the answer. A name that has per-thread variants answers a caller who wants
   one with one of those or not at all. */
static const char *symbol_of(const char *base, int version, cuuint64_t flags)
{
    const struct hook_version *first = first_version(base), *entry;
    const char *plain = NULL, *per_thread = NULL;
    bool knows_per_thread = false;
    for (entry = first; entry < hook_versions + HOOK_VERSIONS && strcmp(entry->base, base) == 0; entry++) {
        knows_per_thread |= entry->per_thread_stream;
        if (entry->version <= version && entry->per_thread_stream)
            per_thread = entry->symbol;
        else if (entry->version <= version)
            plain = entry->symbol;
    }
    return (flags & PER_THREAD_STREAM) && knows_per_thread ? per_thread : plain;
}

/* A newer driver may know a newer variant of the name than the table does, and gives it to who asks for it. */
static bool is_in_table(int version)
{
    return version <= CUDA_VERSION;
}

static void *wrapper_of(const char *base, int version, cuuint64_t flags, void *drivers)
{
    const char *symbol = is_in_table(version) ? symbol_of(base, version, flags) : NULL;
    struct hook_entry *entry = symbol ? hook_find(symbol) : NULL;
    void *wrapper = entry ? hook_own(symbol) : NULL;
    hook_log("cuGetProcAddress %s %d %d: %s", base, version, (int)flags, wrapper ? symbol : "the driver's");
    if (!wrapper)
        return drivers;
    hook_remember(entry, drivers);
    return wrapper;
}

HOOK CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult result = FORWARD(cuGetProcAddress, symbol, pfn, cudaVersion, flags);
    if (result == CUDA_SUCCESS && *pfn)
        *pfn = wrapper_of(symbol, cudaVersion, flags, *pfn);
    return result;
}

#if CUDA_VERSION >= 12000
HOOK CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult result = FORWARD(cuGetProcAddress_v2, symbol, pfn, cudaVersion, flags, symbolStatus);
    if (result == CUDA_SUCCESS && *pfn)
        *pfn = wrapper_of(symbol, cudaVersion, flags, *pfn);
    return result;
}
#endif
