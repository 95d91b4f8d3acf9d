/* Launches: checked as the real driver checks them, and counted. No device code runs. */
#include "driver.h"

struct shape {
    unsigned grid[3], block[3];
    unsigned shared;
};

static bool fits(const unsigned size[3], unsigned x, unsigned y, unsigned z)
{
    return size[0] && size[1] && size[2] && size[0] <= x && size[1] <= y && size[2] <= z;
}

static CUresult check_shape(const struct shape *shape, const struct function *function)
{
    INVALID_IF(!fits(shape->grid, 2147483647, 65535, 65535) || !fits(shape->block, 1024, 1024, 64));
    INVALID_IF(shape->block[0] * shape->block[1] * shape->block[2] > MODEL_THREADS_PER_BLOCK);
    INVALID_IF(shape->shared > (unsigned)function_shared_limit(function));
    return CUDA_SUCCESS;
}

/* Arguments come in one of two ways; a kernel that is known to take some must get them. */
static CUresult check_arguments(const struct function *function, void **parameters, void **extra)
{
    INVALID_IF(parameters && extra);
    const struct kernel *kernel = function->kernel;
    INVALID_IF(kernel && kernel->parameters_known && kernel->parameter_count && !parameters && !extra);
    return CUDA_SUCCESS;
}

struct launched {
    CUfunction f;
    struct shape shape;
};

static CUresult run(const void *kept)
{
    const struct launched *launched = kept;
    const struct shape *shape = &launched->shape;
    struct function *function = function_get(launched->f);

    RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE);
    unsigned long long count = __atomic_add_fetch(&function->launches, 1, __ATOMIC_RELAXED);
    if (tracing)
        trace("launch %llu of %s, grid %ux%ux%u, block %ux%ux%u, %u bytes shared", count, function->name,
              shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
              shape->shared);
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction f, const struct shape *shape, CUstream stream, void **parameters, void **extra)
{
    struct function *function = function_get(f);

    RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE);
    TRY(stream_check(stream));
    TRY(check_shape(shape, function));
    TRY(check_arguments(function, parameters, extra));
    struct launched launched = {f, *shape};
    if (is_captured(stream))
        return capture_call(stream, CU_GRAPH_NODE_TYPE_KERNEL, run, &launched, sizeof launched);
    return run(&launched);
}

DRIVER(cuLaunchKernel)(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                       unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                       unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
    struct shape shape = {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};

    return launch(f, &shape, hStream, kernelParams, extra);
}

DRIVER(cuLaunchKernelEx)(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
    INVALID_IF(!config || (config->numAttrs && !config->attrs));
    struct shape shape = {
        {config->gridDimX, config->gridDimY, config->gridDimZ},
        {config->blockDimX, config->blockDimY, config->blockDimZ},
        config->sharedMemBytes,
    };
    return launch(f, &shape, config->hStream, kernelParams, extra);
}

static int blocks_per_multiprocessor(const struct function *function, int threads, size_t shared)
{
    int by_threads = MODEL_THREADS_PER_MULTIPROCESSOR / ((threads + MODEL_WARP - 1) / MODEL_WARP * MODEL_WARP);
    size_t by_shared = shared ? MODEL_SHARED_PER_MULTIPROCESSOR / shared : MODEL_BLOCKS_PER_MULTIPROCESSOR;

    if (shared > (size_t)function_shared_limit(function) || threads > MODEL_THREADS_PER_BLOCK)
        return 0;
    if (by_threads > MODEL_BLOCKS_PER_MULTIPROCESSOR)
        by_threads = MODEL_BLOCKS_PER_MULTIPROCESSOR;
    return (size_t)by_threads < by_shared ? by_threads : (int)by_shared;
}

DRIVER(cuLaunchCooperativeKernel)(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                                  unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                                  unsigned int sharedMemBytes, CUstream hStream, void **kernelParams)
{
    struct shape shape = {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};
    const struct function *function = function_get(f);

    RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE);
    TRY(check_shape(&shape, function));
    int threads = (int)(blockDimX * blockDimY * blockDimZ);
    int together = MODEL_MULTIPROCESSORS * blocks_per_multiprocessor(function, threads, sharedMemBytes);
    RETURN_IF((size_t)gridDimX * gridDimY * gridDimZ > (size_t)together, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    return launch(f, &shape, hStream, kernelParams, NULL);
}

DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int *numBlocks, CUfunction func, int blockSize,
                                                             size_t dynamicSMemSize, unsigned int flags)
{
    const struct function *function = function_get(func);

    INVALID_IF(!numBlocks || blockSize <= 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE);
    *numBlocks = blocks_per_multiprocessor(function, blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *numBlocks, CUfunction func, int blockSize,
                                                    size_t dynamicSMemSize)
{
    return do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

DRIVER(cuOccupancyMaxPotentialBlockSizeWithFlags)(int *minGridSize, int *blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit, unsigned int flags)
{
    const struct function *function = function_get(func);
    int most = 0;

    INVALID_IF(!minGridSize || !blockSize || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE);
    bool limited = blockSizeLimit > 0 && blockSizeLimit < MODEL_THREADS_PER_BLOCK;
    int limit = limited ? blockSizeLimit : MODEL_THREADS_PER_BLOCK;
    for (int threads = limit; threads > 0; threads -= threads % MODEL_WARP ? threads % MODEL_WARP : MODEL_WARP) {
        size_t shared = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(threads) : dynamicSMemSize;
        int blocks = blocks_per_multiprocessor(function, threads, shared);
        if (blocks * threads > most) {
            most = blocks * threads;
            *blockSize = threads;
            *minGridSize = blocks * MODEL_MULTIPROCESSORS;
        }
    }
    return most ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER(cuOccupancyMaxPotentialBlockSize)(int *minGridSize, int *blockSize, CUfunction func,
                                         CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                         int blockSizeLimit)
{
    return do_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                                                        dynamicSMemSize, blockSizeLimit, 0);
}

DRIVER(cuOccupancyAvailableDynamicSMemPerBlock)(size_t *dynamicSmemSize, CUfunction func, int numBlocks,
                                                int blockSize)
{
    INVALID_IF(!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0);
    RETURN_IF(!function_get(func), CUDA_ERROR_INVALID_HANDLE);
    size_t share = MODEL_SHARED_PER_MULTIPROCESSOR / (size_t)numBlocks;
    *dynamicSmemSize = share < MODEL_SHARED_PER_BLOCK ? share : MODEL_SHARED_PER_BLOCK;
    return CUDA_SUCCESS;
}
