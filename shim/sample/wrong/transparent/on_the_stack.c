/* WRONG: passes one argument twice where the last ones are on the stack.
   Shows: a kernel is launched with two lists of arguments, which the driver refuses.
   conform: transparent/cuLaunchKernel: argument extra is changed */
#include "sample/next.h"

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
    (void)extra;
    return NEXT(cuLaunchKernel)(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
                                kernelParams, kernelParams);
}
