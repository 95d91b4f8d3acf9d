/* Calls for every kind of value that the kernel's events have: texts, structs, many arguments, fractions, out-values. */
#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long CUdeviceptr;
typedef struct { size_t Width, Height; int Format; unsigned NumChannels; } Array;
int cuInit(unsigned);
int cuDeviceGet(int *, int);
int cuDeviceGetName(char *, int, int);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuMemAlloc_v2(CUdeviceptr *, size_t);
int cuMemFree_v2(CUdeviceptr);
int cuArrayCreate_v2(void **, const Array *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuModuleGetFunction(void **, void *, const char *);
int cuEventElapsedTime(float *, void *, void *);
int leave(void) __attribute__((weak));

int main(int count, char **words) {
    CUdeviceptr block = 0, none = 0;
    void *context, *array, *function;
    char name[100];
    int device;
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);
    cuDeviceGetName(name, sizeof name, device);
    cuMemAlloc_v2(&block, 4096);
    cuMemAlloc_v2(&none, (size_t)1 << 60);
    cuMemAlloc_v2(NULL, 1);
    Array wanted = {64, 32, 1, 4};
    cuArrayCreate_v2(&array, &wanted);
    cuModuleGetFunction(&function, NULL, count > 1 ? words[1] : "a \"name\" | with \\ and \xff\n");
    cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, NULL, NULL, NULL);
    cuMemFree_v2(block | 2);
    if (leave)
        leave();
    if (!fork()) {
        cuMemAlloc_v2(&block, 8192);
        _exit(0);
    }
    wait(NULL);
    printf("%s\n", name);
    return 3;
}
