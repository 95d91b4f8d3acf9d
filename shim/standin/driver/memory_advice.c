/* Hints about managed memory: checked, and without effect where host and device are one. */
#include "driver.h"

static CUresult check_managed(CUdeviceptr address, size_t bytes)
{
    const struct allocation *allocation = allocation_at(address);

    INVALID_IF(!bytes || !allocation || allocation->kind != MEMORY_MANAGED || !allocation_covers(address, bytes));
    return CUDA_SUCCESS;
}

static CUresult check_location(CUmemLocation location)
{
    RETURN_IF(location.type == CU_MEM_LOCATION_TYPE_DEVICE && !device_valid(location.id), CUDA_ERROR_INVALID_DEVICE);
    INVALID_IF(location.type == CU_MEM_LOCATION_TYPE_INVALID);
    return CUDA_SUCCESS;
}

static CUmemLocation location_of(CUdevice device)
{
    bool host = device == CU_DEVICE_CPU;

    return (CUmemLocation){.type = host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                           .id = host ? 0 : device};
}

DRIVER(cuMemPrefetchAsync_v2)(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                              CUstream hStream)
{
    INVALID_IF(flags);
    TRY(stream_check(hStream));
    TRY(check_location(location));
    return check_managed(devPtr, count);
}

DRIVER(cuMemPrefetchAsync)(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
    return do_cuMemPrefetchAsync_v2(devPtr, count, location_of(dstDevice), 0, hStream);
}

static bool needs_location(CUmem_advise advice)
{
    return advice != CU_MEM_ADVISE_SET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
           advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
}

DRIVER(cuMemAdvise_v2)(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
    INVALID_IF(advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY);
    if (needs_location(advice))
        TRY(check_location(location));
    return check_managed(devPtr, count);
}

DRIVER(cuMemAdvise)(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    return do_cuMemAdvise_v2(devPtr, count, advice, location_of(device));
}

DRIVER(cuStreamAttachMemAsync)(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
    INVALID_IF(flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE);
    TRY(stream_check(hStream));
    return check_managed(dptr, length ? length : 1);
}
