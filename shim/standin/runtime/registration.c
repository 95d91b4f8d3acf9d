/* What the start-up code of nvcc's programs registers: fatbins with their kernels and variables. Nothing is loaded
 * before it is used, as with lazy loading in the real runtime. */
#include "runtime.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>

struct fatbin {
    const void *image; /* the wrapper */
    CUlibrary library; /* NULL until loaded */
    struct symbol *symbols;
};

/* A host address that stands for something on the device. */
struct symbol {
    const void *host;
    const char *name;
    struct fatbin *fatbin;
    CUkernel kernel;     /* NULL until asked for; functions only */
    void **managed_slot; /* where a managed variable's address is to be written */
    bool variable;
    struct symbol *next; /* of the same fatbin */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *symbols; /* a tree of struct symbol, by host address */

static int compare(const void *left, const void *right)
{
    const void *a = ((const struct symbol *)left)->host, *b = ((const struct symbol *)right)->host;

    return a < b ? -1 : a > b;
}

static struct symbol *find(const void *host)
{
    struct symbol key = {.host = host};
    struct symbol **found = tfind(&key, &symbols, compare);

    return found ? *found : NULL;
}

static void add(struct symbol symbol)
{
    struct symbol *copy = malloc(sizeof *copy);

    if (!copy)
        abort();
    *copy = symbol;
    pthread_mutex_lock(&lock);
    if (*(struct symbol **)tsearch(copy, &symbols, compare) == copy) {
        copy->next = symbol.fatbin->symbols;
        symbol.fatbin->symbols = copy;
    } else {
        free(copy); /* registered twice: the first one stays */
    }
    pthread_mutex_unlock(&lock);
}

PLAIN(void **, __cudaRegisterFatBinary)(void *fatCubin)
{
    struct fatbin *fatbin = calloc(1, sizeof *fatbin);

    if (!fatbin)
        abort();
    fatbin->image = fatCubin;
    return (void **)fatbin;
}

/* Loading waits until a kernel or a variable is used. */
PLAIN(void, __cudaRegisterFatBinaryEnd)(void **fatCubinHandle)
{
    (void)fatCubinHandle;
}

PLAIN(void, __cudaRegisterFunction)(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                                    const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim,
                                    dim3 *gDim, int *wSize)
{
    (void)deviceFun, (void)thread_limit, (void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
    add((struct symbol){.host = hostFun, .name = deviceName, .fatbin = (struct fatbin *)fatCubinHandle});
}

PLAIN(void, __cudaRegisterVar)(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName,
                               int ext, size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)size, (void)constant, (void)global;
    add((struct symbol){
        .host = hostVar, .name = deviceName, .fatbin = (struct fatbin *)fatCubinHandle, .variable = true});
}

PLAIN(void, __cudaRegisterManagedVar)(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
                                      const char *deviceName, int ext, size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)size, (void)constant, (void)global;
    add((struct symbol){.host = hostVarPtrAddress,
                        .name = deviceName,
                        .fatbin = (struct fatbin *)fatCubinHandle,
                        .managed_slot = hostVarPtrAddress,
                        .variable = true});
}

/* Its symbols are forgotten too: after a dlclose their addresses may come to stand for something else. */
PLAIN(void, __cudaUnregisterFatBinary)(void **fatCubinHandle)
{
    struct fatbin *fatbin = (struct fatbin *)fatCubinHandle;

    if (!fatbin)
        return;
    pthread_mutex_lock(&lock);
    for (struct symbol *symbol = fatbin->symbols, *next; symbol; symbol = next) {
        next = symbol->next;
        tdelete(symbol, &symbols, compare);
        free(symbol);
    }
    pthread_mutex_unlock(&lock);
    if (fatbin->library)
        driver.cuLibraryUnload(fatbin->library);
    free(fatbin);
}

/* Call with the lock held. */
static cudaError_t load(struct fatbin *fatbin)
{
    if (fatbin->library)
        return cudaSuccess;
    return FROM_DRIVER(driver.cuLibraryLoadData(&fatbin->library, fatbin->image, NULL, NULL, 0, NULL, NULL, 0));
}

static cudaError_t load_kernel(struct symbol *symbol, CUkernel *kernel)
{
    RETURN_IF(!symbol || symbol->variable, cudaErrorInvalidDeviceFunction);
    TRY(load(symbol->fatbin));
    if (!symbol->kernel)
        TRY_DRIVER(driver.cuLibraryGetKernel(&symbol->kernel, symbol->fatbin->library, symbol->name));
    *kernel = symbol->kernel;
    return cudaSuccess;
}

cudaError_t registered_kernel(const void *host, CUkernel *kernel)
{
    pthread_mutex_lock(&lock);
    cudaError_t result = load_kernel(find(host), kernel);
    pthread_mutex_unlock(&lock);
    return result;
}

static cudaError_t load_variable(const struct symbol *symbol, CUdeviceptr *address, size_t *size)
{
    RETURN_IF(!symbol || !symbol->variable, cudaErrorInvalidSymbol);
    TRY(load(symbol->fatbin));
    if (!symbol->managed_slot)
        return FROM_DRIVER(driver.cuLibraryGetGlobal(address, size, symbol->fatbin->library, symbol->name));
    TRY_DRIVER(driver.cuLibraryGetManaged(address, size, symbol->fatbin->library, symbol->name));
    *symbol->managed_slot = (void *)*address;
    return cudaSuccess;
}

cudaError_t registered_variable(const void *host, CUdeviceptr *address, size_t *size)
{
    pthread_mutex_lock(&lock);
    cudaError_t result = load_variable(find(host), address, size);
    pthread_mutex_unlock(&lock);
    return result;
}

/* Called by the program before it touches a managed variable of that fatbin. */
PLAIN(char, __cudaInitModule)(void **fatCubinHandle)
{
    CUdeviceptr address;
    size_t size;

    if (note_error(need_device()) != cudaSuccess)
        return 0;
    pthread_mutex_lock(&lock);
    for (struct symbol *symbol = ((struct fatbin *)fatCubinHandle)->symbols; symbol; symbol = symbol->next)
        if (symbol->managed_slot)
            load_variable(symbol, &address, &size);
    pthread_mutex_unlock(&lock);
    return 1;
}
