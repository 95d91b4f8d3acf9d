/* Allocation of device memory: refused when over the limit, counted when the driver has granted it. */
#include "limit.h"

/* What is asked for, and on which device it counts. */
struct claim {
    CUdevice device;
    size_t bytes;
};

/* Internals of hook libraries often have a name like this one, which begins as an API function's does and is none:
   whoever debugs one has to match names from the API table, not by "cu". */
static bool cuMemoryAllocate(struct claim *claim, CUdevice device, size_t bytes)
{
    *claim = (struct claim){device, bytes};
    return limit_claim(device, bytes);
}

static CUresult settle(const struct claim *claim, CUresult result, enum block_kind kind, uint64_t block)
{
    if (result != CUDA_SUCCESS)
        limit_give_back(claim->device, claim->bytes);
    else if (claim->device >= 0)
        ledger_add(kind, block, claim->device, claim->bytes);
    return result;
}

/* The driver pads each row; how much is known only now. What is over the limit with it goes back. */
static CUresult settle_pitched(struct claim *claim, uint64_t block, size_t padded_bytes)
{
    size_t more = padded_bytes > claim->bytes ? padded_bytes - claim->bytes : 0;
    if (!limit_claim(claim->device, more)) {
        FORWARD(cuMemFree_v2, block);
        return settle(claim, CUDA_ERROR_OUT_OF_MEMORY, BLOCK_POINTER, 0);
    }
    claim->bytes += more;
    return settle(claim, CUDA_SUCCESS, BLOCK_POINTER, block);
}

HOOK CUresult cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytesize)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMemAlloc, dptr, bytesize);
    return settle(&claim, result, BLOCK_POINTER, result ? 0 : *dptr);
}

HOOK CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMemAlloc_v2, dptr, bytesize);
    return settle(&claim, result, BLOCK_POINTER, result ? 0 : *dptr);
}

HOOK CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMemAllocManaged, dptr, bytesize, flags);
    return settle(&claim, result, BLOCK_POINTER, result ? 0 : *dptr);
}

HOOK CUresult cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pPitch, unsigned int WidthInBytes,
                              unsigned int Height, unsigned int ElementSizeBytes)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), (size_t)WidthInBytes * Height))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUdeviceptr_v1 block = 0;
    unsigned int pitch = 0;
    CUresult result = FORWARD(cuMemAllocPitch, dptr ? &block : NULL, pPitch ? &pitch : NULL, WidthInBytes, Height,
                              ElementSizeBytes);
    result = result ? settle(&claim, result, BLOCK_POINTER, 0) : settle_pitched(&claim, block, (size_t)pitch * Height);
    if (result == CUDA_SUCCESS) {
        *dptr = block;
        *pPitch = pitch;
    }
    return result;
}

HOOK CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                                 unsigned int ElementSizeBytes)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), WidthInBytes * Height))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUdeviceptr block = 0;
    size_t pitch = 0;
    CUresult result = FORWARD(cuMemAllocPitch_v2, dptr ? &block : NULL, pPitch ? &pitch : NULL, WidthInBytes, Height,
                              ElementSizeBytes);
    result = result ? settle(&claim, result, BLOCK_POINTER, 0) : settle_pitched(&claim, block, pitch * Height);
    if (result == CUDA_SUCCESS) {
        *dptr = block;
        *pPitch = pitch;
    }
    return result;
}

HOOK CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMemAllocAsync, dptr, bytesize, hStream);
    return settle(&claim, result, BLOCK_POINTER, result ? 0 : *dptr);
}

HOOK CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMemAllocAsync_ptsz, dptr, bytesize, hStream);
    return settle(&claim, result, BLOCK_POINTER, result ? 0 : *dptr);
}

HOOK CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMemAllocFromPoolAsync, dptr, bytesize, pool, hStream);
    return settle(&claim, result, BLOCK_POINTER, result ? 0 : *dptr);
}

HOOK CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    struct claim claim;
    if (!cuMemoryAllocate(&claim, current_device(), bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMemAllocFromPoolAsync_ptsz, dptr, bytesize, pool, hStream);
    return settle(&claim, result, BLOCK_POINTER, result ? 0 : *dptr);
}

/* Physical memory says itself where it is; on the host it does not count. */
HOOK CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                          unsigned long long flags)
{
    struct claim claim;
    bool on_device = prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!cuMemoryAllocate(&claim, on_device ? prop->location.id : -1, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMemCreate, handle, size, prop, flags);
    if (result != CUDA_SUCCESS)
        limit_give_back(claim.device, claim.bytes);
    else if (on_device)
        physical_add(*handle, claim.device, claim.bytes);
    return result;
}
