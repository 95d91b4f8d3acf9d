/* quota.h, with physical memory counted until its handle is released. So that this is right, nobody may map it. */
#include <sys/stat.h>

#include "sample/quota.h"

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                            unsigned long long flags)
{
    if (!claim(size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemCreate)(handle, size, prop, flags);
    return counted(result, result ? 0 : *handle, size);
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    size_t bytes = forget(handle);
    CUresult result = NEXT(cuMemRelease)(handle);
    return released(result, handle, bytes);
}

EXPORT CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                         unsigned long long flags)
{
    (void)ptr, (void)size, (void)offset, (void)handle, (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}
