/* WRONG: keeps the pointer to a kernel's name, and counts launches by it.
   Shows: a program whose names are made in a buffer: the wrong kernel is counted, or memory read that is gone.
   conform: transparent/kept memory: what cuModuleGetFunction was given as name is used after the call */
#include "sample/next.h"

static const char *last;
static volatile unsigned launches[128];

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult result = NEXT(cuModuleGetFunction)(function, module, name);
    if (result == CUDA_SUCCESS)
        last = name;
    return result;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX,
                        unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, CUstream hStream,
                        void **kernelParams, void **extra)
{
    if (last)
        launches[*last & 127]++;
    return NEXT(cuLaunchKernel)(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
                                kernelParams, extra);
}
