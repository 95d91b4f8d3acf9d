/* Questions about devices, versions and limits: handed on to the driver. */
#include "runtime.h"

#include <string.h>

RUNTIME_ANY(cudaRuntimeGetVersion)(int *runtimeVersion)
{
    INVALID_IF(!runtimeVersion);
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

/* 0, and no error, where there is no driver. */
RUNTIME_ANY(cudaDriverGetVersion)(int *driverVersion)
{
    INVALID_IF(!driverVersion);
    *driverVersion = 0;
    if (need_driver() == cudaErrorInsufficientDriver)
        return cudaSuccess;
    return FROM_DRIVER(driver.cuDriverGetVersion(driverVersion));
}

RUNTIME_INIT(cudaDeviceGetAttribute)(int *value, enum cudaDeviceAttr attr, int device)
{
    return FROM_DRIVER(driver.cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device));
}

RUNTIME_INIT(cudaDeviceCanAccessPeer)(int *canAccessPeer, int device, int peerDevice)
{
    return FROM_DRIVER(driver.cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice));
}

RUNTIME_INIT(cudaDeviceGetP2PAttribute)(int *value, enum cudaDeviceP2PAttr attr, int srcDevice, int dstDevice)
{
    return FROM_DRIVER(driver.cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attr, srcDevice, dstDevice));
}

RUNTIME_INIT(cudaDeviceGetByPCIBusId)(int *device, const char *pciBusId)
{
    return FROM_DRIVER(driver.cuDeviceGetByPCIBusId(device, pciBusId));
}

RUNTIME_INIT(cudaDeviceGetPCIBusId)(char *pciBusId, int len, int device)
{
    return FROM_DRIVER(driver.cuDeviceGetPCIBusId(pciBusId, len, device));
}

RUNTIME(cudaDeviceGetLimit)(size_t *pValue, enum cudaLimit limit)
{
    return FROM_DRIVER(driver.cuCtxGetLimit(pValue, (CUlimit)limit));
}

RUNTIME(cudaDeviceSetLimit)(enum cudaLimit limit, size_t value)
{
    return FROM_DRIVER(driver.cuCtxSetLimit((CUlimit)limit, value));
}

RUNTIME(cudaDeviceGetCacheConfig)(enum cudaFuncCache *pCacheConfig)
{
    return FROM_DRIVER(driver.cuCtxGetCacheConfig((CUfunc_cache *)pCacheConfig));
}

RUNTIME(cudaDeviceSetCacheConfig)(enum cudaFuncCache cacheConfig)
{
    return FROM_DRIVER(driver.cuCtxSetCacheConfig((CUfunc_cache)cacheConfig));
}

RUNTIME(cudaDeviceGetSharedMemConfig)(enum cudaSharedMemConfig *pConfig)
{
    return FROM_DRIVER(driver.cuCtxGetSharedMemConfig((CUsharedconfig *)pConfig));
}

RUNTIME(cudaDeviceSetSharedMemConfig)(enum cudaSharedMemConfig config)
{
    return FROM_DRIVER(driver.cuCtxSetSharedMemConfig((CUsharedconfig)config));
}

RUNTIME(cudaDeviceGetStreamPriorityRange)(int *leastPriority, int *greatestPriority)
{
    return FROM_DRIVER(driver.cuCtxGetStreamPriorityRange(leastPriority, greatestPriority));
}

/* The first device, when several would do. */
RUNTIME_INIT(cudaChooseDevice)(int *device, const struct cudaDeviceProp *prop)
{
    INVALID_IF(!device || !prop);
    *device = 0;
    return check_device(0);
}

RUNTIME(cudaProfilerStart)(void)
{
    return FROM_DRIVER(driver.cuProfilerStart());
}

RUNTIME(cudaProfilerStop)(void)
{
    return FROM_DRIVER(driver.cuProfilerStop());
}

RUNTIME_INIT(cudaGetExportTable)(const void **ppExportTable, const cudaUUID_t *pExportTableId)
{
    return FROM_DRIVER(driver.cuGetExportTable(ppExportTable, pExportTableId));
}

static cudaError_t entry_point(const char *symbol, void **funcPtr, int version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *driverStatus)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;

    INVALID_IF(!symbol || !funcPtr);
    CUresult result = driver.cuGetProcAddress_v2(symbol, funcPtr, version, flags, &status);
    if (driverStatus)
        *driverStatus = (enum cudaDriverEntryPointQueryResult)status;
    return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : FROM_DRIVER(result);
}

RUNTIME_INIT(cudaGetDriverEntryPoint)(const char *symbol, void **funcPtr, unsigned long long flags,
                                      enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return entry_point(symbol, funcPtr, CUDART_VERSION, flags, driverStatus);
}

RUNTIME_INIT(cudaGetDriverEntryPointByVersion)(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                               unsigned long long flags,
                                               enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return entry_point(symbol, funcPtr, (int)cudaVersion, flags, driverStatus);
}
