/* A tool's library, which a driver loads while it is initialized. */
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Not while anything is held: the library may call cuInit. */
void load_injection(void)
{
    static bool done;
    const char *path = getenv("CUDA_INJECTION64_PATH");

    if (__atomic_exchange_n(&done, true, __ATOMIC_SEQ_CST) || !path || !*path)
        return;
    void *library = dlopen(path, RTLD_NOW);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (initialize)
        initialize();
}
