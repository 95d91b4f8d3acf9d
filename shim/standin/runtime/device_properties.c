/* cudaDeviceProp, filled in member by member from the driver's attributes. */
#include "runtime.h"

#include <stddef.h>
#include <string.h>

enum member_size { INT, SIZE };

#define MEMBER(member, type, name) {offsetof(struct cudaDeviceProp, member), type, CU_DEVICE_ATTRIBUTE_##name}

static const struct {
    size_t offset;
    enum member_size size;
    CUdevice_attribute attribute;
} members[] = {
    MEMBER(sharedMemPerBlock, SIZE, MAX_SHARED_MEMORY_PER_BLOCK),
    MEMBER(regsPerBlock, INT, MAX_REGISTERS_PER_BLOCK),
    MEMBER(warpSize, INT, WARP_SIZE),
    MEMBER(memPitch, SIZE, MAX_PITCH),
    MEMBER(maxThreadsPerBlock, INT, MAX_THREADS_PER_BLOCK),
    MEMBER(maxThreadsDim[0], INT, MAX_BLOCK_DIM_X),
    MEMBER(maxThreadsDim[1], INT, MAX_BLOCK_DIM_Y),
    MEMBER(maxThreadsDim[2], INT, MAX_BLOCK_DIM_Z),
    MEMBER(maxGridSize[0], INT, MAX_GRID_DIM_X),
    MEMBER(maxGridSize[1], INT, MAX_GRID_DIM_Y),
    MEMBER(maxGridSize[2], INT, MAX_GRID_DIM_Z),
    MEMBER(totalConstMem, SIZE, TOTAL_CONSTANT_MEMORY),
    MEMBER(major, INT, COMPUTE_CAPABILITY_MAJOR),
    MEMBER(minor, INT, COMPUTE_CAPABILITY_MINOR),
    MEMBER(textureAlignment, SIZE, TEXTURE_ALIGNMENT),
    MEMBER(texturePitchAlignment, SIZE, TEXTURE_PITCH_ALIGNMENT),
    MEMBER(multiProcessorCount, INT, MULTIPROCESSOR_COUNT),
    MEMBER(integrated, INT, INTEGRATED),
    MEMBER(canMapHostMemory, INT, CAN_MAP_HOST_MEMORY),
    MEMBER(maxTexture1D, INT, MAXIMUM_TEXTURE1D_WIDTH),
    MEMBER(maxTexture2D[0], INT, MAXIMUM_TEXTURE2D_WIDTH),
    MEMBER(maxTexture2D[1], INT, MAXIMUM_TEXTURE2D_HEIGHT),
    MEMBER(maxTexture3D[0], INT, MAXIMUM_TEXTURE3D_WIDTH),
    MEMBER(maxTexture3D[1], INT, MAXIMUM_TEXTURE3D_HEIGHT),
    MEMBER(maxTexture3D[2], INT, MAXIMUM_TEXTURE3D_DEPTH),
    MEMBER(surfaceAlignment, SIZE, SURFACE_ALIGNMENT),
    MEMBER(concurrentKernels, INT, CONCURRENT_KERNELS),
    MEMBER(ECCEnabled, INT, ECC_ENABLED),
    MEMBER(pciBusID, INT, PCI_BUS_ID),
    MEMBER(pciDeviceID, INT, PCI_DEVICE_ID),
    MEMBER(pciDomainID, INT, PCI_DOMAIN_ID),
    MEMBER(tccDriver, INT, TCC_DRIVER),
    MEMBER(asyncEngineCount, INT, ASYNC_ENGINE_COUNT),
    MEMBER(unifiedAddressing, INT, UNIFIED_ADDRESSING),
    MEMBER(memoryBusWidth, INT, GLOBAL_MEMORY_BUS_WIDTH),
    MEMBER(l2CacheSize, INT, L2_CACHE_SIZE),
    MEMBER(maxThreadsPerMultiProcessor, INT, MAX_THREADS_PER_MULTIPROCESSOR),
    MEMBER(streamPrioritiesSupported, INT, STREAM_PRIORITIES_SUPPORTED),
    MEMBER(globalL1CacheSupported, INT, GLOBAL_L1_CACHE_SUPPORTED),
    MEMBER(localL1CacheSupported, INT, LOCAL_L1_CACHE_SUPPORTED),
    MEMBER(sharedMemPerMultiprocessor, SIZE, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    MEMBER(regsPerMultiprocessor, INT, MAX_REGISTERS_PER_MULTIPROCESSOR),
    MEMBER(managedMemory, INT, MANAGED_MEMORY),
    MEMBER(pageableMemoryAccess, INT, PAGEABLE_MEMORY_ACCESS),
    MEMBER(concurrentManagedAccess, INT, CONCURRENT_MANAGED_ACCESS),
    MEMBER(computePreemptionSupported, INT, COMPUTE_PREEMPTION_SUPPORTED),
    MEMBER(canUseHostPointerForRegisteredMem, INT, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
    MEMBER(cooperativeLaunch, INT, COOPERATIVE_LAUNCH),
    MEMBER(sharedMemPerBlockOptin, SIZE, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    MEMBER(maxBlocksPerMultiProcessor, INT, MAX_BLOCKS_PER_MULTIPROCESSOR),
    MEMBER(reservedSharedMemPerBlock, SIZE, RESERVED_SHARED_MEMORY_PER_BLOCK),
    MEMBER(hostRegisterSupported, INT, HOST_REGISTER_SUPPORTED),
    MEMBER(hostRegisterReadOnlySupported, INT, READ_ONLY_HOST_REGISTER_SUPPORTED),
    MEMBER(memoryPoolsSupported, INT, MEMORY_POOLS_SUPPORTED),
#if CUDART_VERSION >= 13000
    MEMBER(deviceNumaId, INT, NUMA_ID),
    MEMBER(hostNumaId, INT, HOST_NUMA_ID),
#else
    MEMBER(clockRate, INT, CLOCK_RATE),
    MEMBER(memoryClockRate, INT, MEMORY_CLOCK_RATE),
    MEMBER(deviceOverlap, INT, GPU_OVERLAP),
    MEMBER(singleToDoublePrecisionPerfRatio, INT, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
#endif
};

static cudaError_t fill_member(struct cudaDeviceProp *prop, size_t index, int device)
{
    char *member = (char *)prop + members[index].offset;
    int value;

    TRY_DRIVER(driver.cuDeviceGetAttribute(&value, members[index].attribute, device));
    if (members[index].size == SIZE)
        *(size_t *)(void *)member = (size_t)value;
    else
        *(int *)(void *)member = value;
    return cudaSuccess;
}

RUNTIME_INIT(cudaGetDeviceProperties)(struct cudaDeviceProp *prop, int device)
{
    INVALID_IF(!prop);
    TRY(check_device(device));
    memset(prop, 0, sizeof *prop);
    TRY_DRIVER(driver.cuDeviceGetName(prop->name, sizeof prop->name, device));
    TRY_DRIVER(driver.cuDeviceGetUuid_v2(&prop->uuid, device));
    TRY_DRIVER(driver.cuDeviceTotalMem_v2(&prop->totalGlobalMem, device));
    for (size_t i = 0; i < LENGTH(members); i++)
        TRY(fill_member(prop, i, device));
    return cudaSuccess;
}
