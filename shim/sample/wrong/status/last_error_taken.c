/* WRONG: asks for the last error to log it. That forgets it, and the program finds cudaSuccess; cudaPeekAtLastError leaves it.
   Shows: "CUDA error: no error", or none at all: programs launch kernels, and ask afterwards what has become of them.
   conform: status/cudaMalloc: a call that fails: the program's last error is forgotten
   conform: transparent/cudaDeviceSynchronize: the program's last error is forgotten */
#include "sample/next.h"

static int last_error;

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    cudaError_t result = NEXT(cudaMalloc)(devPtr, size);
    if (result != cudaSuccess)
        last_error = (int)NEXT(cudaGetLastError)();
    return result;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t result = NEXT(cudaDeviceSynchronize)();
    last_error = (int)NEXT(cudaGetLastError)();
    return result;
}
