/* Questions about kernels and their occupancy. */
#include "runtime.h"

#include <stddef.h>
#include <string.h>

#define MEMBER(member, name) {offsetof(struct cudaFuncAttributes, member), CU_FUNC_ATTRIBUTE_##name}

static const struct {
    size_t offset;
    CUfunction_attribute attribute;
} members[] = {
    MEMBER(sharedSizeBytes, SHARED_SIZE_BYTES),
    MEMBER(constSizeBytes, CONST_SIZE_BYTES),
    MEMBER(localSizeBytes, LOCAL_SIZE_BYTES),
    MEMBER(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
    MEMBER(numRegs, NUM_REGS),
    MEMBER(ptxVersion, PTX_VERSION),
    MEMBER(binaryVersion, BINARY_VERSION),
    MEMBER(cacheModeCA, CACHE_MODE_CA),
    MEMBER(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES),
    MEMBER(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT),
};

/* The first three members are size_t of which the int that the driver gives is the low half. */
RUNTIME(cudaFuncGetAttributes)(struct cudaFuncAttributes *attr, const void *func)
{
    CUkernel kernel;

    INVALID_IF(!attr);
    TRY(kernel_of(func, &kernel));
    memset(attr, 0, sizeof *attr);
    for (size_t i = 0; i < LENGTH(members); i++) {
        int *member = (int *)(void *)((char *)attr + members[i].offset);
        TRY_DRIVER(driver.cuFuncGetAttribute(member, members[i].attribute, (CUfunction)kernel));
    }
    return cudaSuccess;
}

RUNTIME(cudaFuncSetAttribute)(const void *func, enum cudaFuncAttribute attr, int value)
{
    CUkernel kernel;

    TRY(kernel_of(func, &kernel));
    TRY_DRIVER(driver.cuFuncSetAttribute((CUfunction)kernel, (CUfunction_attribute)attr, value));
    return forget_error();
}

RUNTIME(cudaFuncSetCacheConfig)(const void *func, enum cudaFuncCache cacheConfig)
{
    CUkernel kernel;

    TRY(kernel_of(func, &kernel));
    return FROM_DRIVER(driver.cuFuncSetCacheConfig((CUfunction)kernel, (CUfunc_cache)cacheConfig));
}

RUNTIME(cudaFuncGetName)(const char **name, const void *func)
{
    CUkernel kernel;

    TRY(kernel_of(func, &kernel));
    return FROM_DRIVER(driver.cuKernelGetName(name, kernel));
}

RUNTIME(cudaFuncGetParamInfo)(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    CUkernel kernel;

    TRY(kernel_of(func, &kernel));
    TRY_DRIVER(driver.cuKernelGetParamInfo(kernel, paramIndex, paramOffset, paramSize));
    return forget_error();
}

RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int *numBlocks, const void *func, int blockSize,
                                                                size_t dynamicSMemSize, unsigned int flags)
{
    CUkernel kernel;

    TRY(kernel_of(func, &kernel));
    return FROM_DRIVER(driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, (CUfunction)kernel, blockSize, dynamicSMemSize, flags));
}

RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(int *numBlocks, const void *func, int blockSize,
                                                       size_t dynamicSMemSize)
{
    return do_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

RUNTIME(cudaOccupancyAvailableDynamicSMemPerBlock)(size_t *dynamicSmemSize, const void *func, int numBlocks,
                                                   int blockSize)
{
    CUkernel kernel;

    TRY(kernel_of(func, &kernel));
    return FROM_DRIVER(driver.cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, (CUfunction)kernel, numBlocks,
                                                                      blockSize));
}
