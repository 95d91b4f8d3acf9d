/* WRONG: divides by the number of blocks, to know for how long a kernel is to be held back.
   Shows: a program that launches an empty grid, which the driver refuses, ends with SIGFPE.
   conform: status/cuLaunchKernel: an odd value: it ends with SIGFPE in cuLaunchKernel of divides.so */
#include "sample/next.h"

CUresult cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX,
                        unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, CUstream hStream,
                        void **kernelParams, void **extra)
{
    static volatile unsigned long tokens = 1ul << 40;
    tokens -= tokens / ((unsigned long)gridDimX) & 1;
    return NEXT(cuLaunchKernel)(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
                                kernelParams, extra);
}
