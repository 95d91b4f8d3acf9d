/* WRONG: asks the runtime how much is free, to log it, and leaves it at that where the runtime cannot say.
   Shows: "CUDA error" from a program that asks for its last error after an allocation that went well.
   conform: faults/cudaMalloc: the driver refuses cuCtxGetCurrent: it fails for the hook library, and the program finds that as its last error
   conform: faults/cudaMalloc: the driver refuses cuDriverGetVersion: it fails for the hook library, and the program finds that as its last error
   conform: faults/cudaMalloc: the driver refuses cuGetProcAddress_v2: it fails for the hook library, and the program finds that as its last error
   conform: faults/cudaMalloc: the driver refuses cuInit: it fails for the hook library, and the program finds that as its last error
   conform: faults/cudaMalloc: the driver refuses cuMemGetInfo_v2: it fails for the hook library, and the program finds that as its last error
   conform: faults/cudaMalloc: the driver refuses cudaMemGetInfo: it fails for the hook library, and the program finds that as its last error */
#include "sample/next.h"

static size_t least = -1ul;

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    size_t is_free, total;
    if (NEXT(cudaMemGetInfo)(&is_free, &total) == cudaSuccess && is_free < least)
        least = is_free;
    return NEXT(cudaMalloc)(devPtr, size);
}
