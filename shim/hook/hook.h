/* What the files of the hook library share.

   Every API function of the table is exported. Most are generated (build/hook/driver.c, runtime.c, nvml.c) and only
   forward; the ones that do something are written by hand in this directory, marked HOOK, and generate.py leaves
   them out because it finds them there. The environment, read when it is needed and not only at the start:
     GDBCUDA_MEMORY_LIMIT=4g     most device memory that the process may have, per device (limit.c)
     GDBCUDA_HOOK_WATCH_MS=200   pause of the watcher thread, which runs where a limit is set; 0: none (watcher.c)
     GDBCUDA_HOOK_LOG=1          say on stderr what is answered, refused and watched (log.c) */
#ifndef GDBCUDA_HOOK_H
#define GDBCUDA_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gdbcuda_api.h"

#define HOOK __attribute__((visibility("default")))

enum hook_api { HOOK_DRIVER, HOOK_RUNTIME, HOOK_NVML };

/* One API function. `real` is the function that the wrapper forwards to, NULL until it was first needed. */
struct hook_entry {
    const char *name;
    enum hook_api api;
    void *real;
};

/* One answer of cuGetProcAddress: from this CUDA version on, `base` means `symbol`. */
struct hook_version {
    const char *base;
    int version;
    bool per_thread_stream;
    const char *symbol;
};

#include "hook/entries.h" /* generated: the tables' sizes, ENTRY_cuMemAlloc_v2 and so on, HOOK_CUDA_VERSION */

extern struct hook_entry hook_entries[HOOK_ENTRIES];          /* sorted by name */
extern const struct hook_version hook_versions[HOOK_VERSIONS]; /* sorted by base, then by version */

/* entries.c, resolve.c */
struct hook_entry *hook_find(const char *name);      /* NULL: not an API function */
void *hook_real(int entry);                          /* NULL: no driver, or the driver lacks it */
void hook_remember(struct hook_entry *entry, void *real);
void *hook_own(const char *name);                    /* the wrapper that this library exports */
bool hook_is_vendors(void *address);                 /* in libcuda, libnvidia-ml or libcudart, by file name */
bool hook_is_own(void *address);                     /* in this library */

/* libc.c: the real ones, and the next in search order (of a hook library behind this one, or the real ones). The
   quiet lookup leaves dlerror() as if it had never been made. */
typedef void *(*dlsym_function)(void *handle, const char *symbol);
typedef void *(*dlvsym_function)(void *handle, const char *symbol, const char *version);
dlsym_function libc_dlsym(void);
dlvsym_function libc_dlvsym(void);
dlsym_function next_dlsym(void);
dlvsym_function next_dlvsym(void);
void *quiet_dlsym(void *handle, const char *symbol);

/* log.c */
void hook_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* always */
void hook_log(const char *format, ...) __attribute__((format(printf, 1, 2))); /* with GDBCUDA_HOOK_LOG=1 */

/* The real function with its type, and a call of it that reports its absence as the API would. */
#define REAL(function) ((__typeof__(&function))hook_real(ENTRY_##function))
#define FORWARD_OR(missing, function, ...)                        \
    ({                                                          \
        __typeof__(&function) real = REAL(function);            \
        real ? real(__VA_ARGS__) : (missing);                   \
    })
#define FORWARD(function, ...) FORWARD_OR(CUDA_ERROR_NOT_FOUND, function, __VA_ARGS__)
#define FORWARD_NVML(function, ...) FORWARD_OR(NVML_ERROR_LIBRARY_NOT_FOUND, function, __VA_ARGS__)

#endif
