/* Loads libcuda.so.1 by itself and asks for every function by name, in each way that there is: with the handle,
   with dlvsym, with RTLD_DEFAULT and with RTLD_NEXT. Nothing of CUDA is linked, so only a hook library that
   overrides dlsym is reached. Exit status 0, or 2 without a driver. */
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
        printf("%-20s no such function this way\n", way);
        return;
    }
    CUdeviceptr block = 0;
    CUresult result = alloc(&block, ((size_t)1 << 30) + 1);
    printf("%-20s 1 GiB + 1: CUresult %d\n", way, (int)result);
    if (!result)
        FUNCTION(cuMemFree_v2)(block);
}

int main(void)
{
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!driver) {
        printf("no driver: %s\n", dlerror());
        return 2;
    }
    use_first_device();
    allocate("dlsym(handle)", dlsym(driver, "cuMemAlloc_v2"));
    allocate("dlvsym(handle)", dlvsym(driver, "cuMemAlloc_v2", "libcuda.so.1"));
    allocate("dlsym(RTLD_DEFAULT)", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    allocate("dlsym(RTLD_NEXT)", dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
    return 0;
}
