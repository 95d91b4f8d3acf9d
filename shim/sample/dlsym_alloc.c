/* Loads libcuda.so.1 by itself, first for itself alone, as the CUDA runtime does, then into the global scope, and asks
   for functions by name in each way that there is: with the handle, with dlvsym, with RTLD_DEFAULT and RTLD_NEXT.
   Nothing of CUDA is linked, so only a hook library that overrides dlsym is reached. Exit status 0, or 2 without a
   driver. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "gdbcuda_api.h"

#define FUNCTION(name) ((__typeof__(&name))function(#name))

static void *driver;

static void *function(const char *name)
{
    void *address = dlsym(driver, name);
    if (!address) {
        printf("%s\n", dlerror());
        exit(2);
    }
    return address;
}

static void use_first_device(void)
{
    CUdevice device;
    CUcontext context;
    CUresult result = FUNCTION(cuInit)(0);
    if (!result)
        result = FUNCTION(cuDeviceGet)(&device, 0);
    if (!result)
        result = FUNCTION(cuDevicePrimaryCtxRetain)(&context, device);
    if (!result)
        result = FUNCTION(cuCtxSetCurrent)(context);
    if (result)
        exit(2);
}

static void allocate(const char *way, __typeof__(&cuMemAlloc_v2) alloc)
{
    if (!alloc) {
        printf("%-21s no such function this way\n", way);
        return;
    }
    CUdeviceptr block = 0;
    CUresult result = alloc(&block, ((size_t)1 << 30) + 1);
    printf("%-21s 1 GiB + 1: CUresult %d\n", way, (int)result);
    if (!result)
        FUNCTION(cuMemFree_v2)(block);
}

static void allocate_without_handle(const char *scope)
{
    char way[32];
    snprintf(way, sizeof way, "%s, RTLD_DEFAULT", scope);
    allocate(way, dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    snprintf(way, sizeof way, "%s, RTLD_NEXT", scope);
    allocate(way, dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
}

int main(void)
{
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        printf("no driver: %s\n", dlerror());
        return 2;
    }
    use_first_device();
    allocate("local, handle", dlsym(driver, "cuMemAlloc_v2"));
    allocate("local, dlvsym", dlvsym(driver, "cuMemAlloc_v2", "libcuda.so.1"));
    allocate_without_handle("local");
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    allocate_without_handle("global");
    return 0;
}
