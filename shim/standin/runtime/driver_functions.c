/* Finding the driver: dlopen, one dlsym, and cuGetProcAddress for everything else, as NVIDIA's runtime does it, so
 * that a hook library between the two is asked. */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>

#include "standin_driver_requests.h" /* generated: requests */

typedef __typeof__(cuGetProcAddress_v2) get_proc_address;
typedef CUresult any_function(void);

union functions {
    struct driver_functions named;
    any_function *in_order[LENGTH(requests)];
};

static union functions for_legacy_stream, for_per_thread_stream;
static cudaError_t outcome;
static _Thread_local bool per_thread;

bool use_per_thread_stream(bool use)
{
    bool before = per_thread;

    per_thread = use;
    return before;
}

const struct driver_functions *driver_functions(void)
{
    return per_thread ? &for_per_thread_stream.named : &for_legacy_stream.named;
}

/* In the place of a function that the driver does not have. */
static CUresult missing(void)
{
    return (CUresult)cudaErrorCallRequiresNewerDriver;
}

static any_function *ask(get_proc_address *get, const char *name, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    void *address = NULL;

    if (get(name, &address, version, flags, &status) != CUDA_SUCCESS || !address)
        return NULL;
    return (any_function *)address;
}

static void ask_for_all(get_proc_address *get)
{
    for (size_t i = 0; i < LENGTH(requests); i++) {
        any_function *function = ask(get, requests[i].name, requests[i].version, 0);
        for_legacy_stream.in_order[i] = function ? function : missing;
        function = NULL;
        if (requests[i].per_thread_version)
            function = ask(get, requests[i].name, requests[i].per_thread_version,
                           CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        for_per_thread_stream.in_order[i] = function ? function : for_legacy_stream.in_order[i];
    }
}

static cudaError_t start_driver(void)
{
    int version = 0;

    TRY_DRIVER(driver.cuDriverGetVersion(&version));
    RETURN_IF(version / 1000 < CUDART_VERSION / 1000, cudaErrorInsufficientDriver);
    return FROM_DRIVER(driver.cuInit(0));
}

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    get_proc_address *get = library ? (get_proc_address *)dlsym(library, "cuGetProcAddress_v2") : NULL;

    outcome = cudaErrorInsufficientDriver;
    if (!get)
        return;
    ask_for_all(get);
    outcome = start_driver();
}

cudaError_t need_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_driver);
    return outcome;
}
