/* Launches, by the address of the host's stub or by a kernel handle. */
#include "runtime.h"

enum { DEEPEST_CONFIGURATION = 16 };

static _Thread_local struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configurations[DEEPEST_CONFIGURATION];
static _Thread_local unsigned depth;

/* kernel<<<grid, block>>>(...) pushes, and the stub that it calls pops. Not 0: the call is skipped. */
PLAIN(unsigned, __cudaPushCallConfiguration)(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                             struct CUstream_st *stream)
{
    if (depth == DEEPEST_CONFIGURATION)
        return 1;
    configurations[depth++] = (struct configuration){gridDim, blockDim, sharedMem, stream};
    return 0;
}

RUNTIME_ANY(__cudaPopCallConfiguration)(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream)
{
    RETURN_IF(!depth, cudaErrorMissingConfiguration);
    const struct configuration *top = &configurations[--depth];
    *gridDim = top->grid;
    *blockDim = top->block;
    *sharedMem = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

/* Until CUDA 13 the runtime had an error of its own for a shape that no device can run. */
static cudaError_t check_shape(dim3 grid, dim3 block)
{
    bool impossible = !grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z ||
                      (unsigned long long)block.x * block.y * block.z > 1024;

    return CUDART_VERSION < 13000 && impossible ? cudaErrorInvalidConfiguration : cudaSuccess;
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    TRY(check_shape(grid, block));
    return FROM_DRIVER(driver.cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                             (unsigned)shared, stream, args, NULL));
}

cudaError_t kernel_of(const void *function, CUkernel *kernel)
{
    const char *name;

    cudaError_t result = registered_kernel(function, kernel);
    if (result != cudaErrorInvalidDeviceFunction)
        return result;
    TRY_DRIVER(driver.cuKernelGetName(&name, (CUkernel)function));
    *kernel = (CUkernel)function;
    return cudaSuccess;
}

RUNTIME(__cudaGetKernel)(cudaKernel_t *kernel, const void *host)
{
    return registered_kernel(host, kernel);
}

RUNTIME(cudaGetKernel)(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    INVALID_IF(!kernelPtr);
    return registered_kernel(entryFuncAddr, kernelPtr);
}

RUNTIME(cudaGetFuncBySymbol)(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    CUkernel kernel;

    INVALID_IF(!functionPtr);
    TRY(registered_kernel(symbolPtr, &kernel));
    return FROM_DRIVER(driver.cuKernelGetFunction(functionPtr, kernel));
}

RUNTIME(__cudaLaunchKernel)(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                            cudaStream_t stream)
{
    RETURN_IF(!kernel, cudaErrorInvalidDeviceFunction);
    return launch(kernel, gridDim, blockDim, args, sharedMem, stream);
}

RUNTIME(cudaLaunchKernel)(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                          cudaStream_t stream)
{
    CUkernel kernel;

    TRY(kernel_of(func, &kernel));
    return launch(kernel, gridDim, blockDim, args, sharedMem, stream);
}

RUNTIME(cudaLaunchCooperativeKernel)(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                                     cudaStream_t stream)
{
    CUkernel kernel;

    TRY(kernel_of(func, &kernel));
    TRY(check_shape(gridDim, blockDim));
    return FROM_DRIVER(driver.cuLaunchCooperativeKernel((CUfunction)kernel, gridDim.x, gridDim.y, gridDim.z,
                                                        blockDim.x, blockDim.y, blockDim.z, (unsigned)sharedMem,
                                                        stream, args));
}

RUNTIME(cudaLaunchKernelExC)(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    CUkernel kernel;

    INVALID_IF(!config);
    TRY(kernel_of(func, &kernel));
    CUlaunchConfig wanted = {
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
    TRY(check_shape(config->gridDim, config->blockDim));
    return FROM_DRIVER(driver.cuLaunchKernelEx(&wanted, (CUfunction)kernel, args, NULL));
}
