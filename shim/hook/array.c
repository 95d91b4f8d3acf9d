/* Allocation of CUDA arrays. Their size is not asked for in bytes: it is estimated from the description, without the
   driver's padding; formats that are compressed or have planes count as one byte per channel. */
#include "limit.h"

static size_t channel_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 1;
    }
}

/* A height or depth of 0 means that the array has no such dimension. */
static size_t array_bytes(size_t width, size_t height, size_t depth, CUarray_format format, unsigned int channels)
{
    return width * (height ? height : 1) * (depth ? depth : 1) * channel_bytes(format) * channels;
}

static size_t bytes_2d(const CUDA_ARRAY_DESCRIPTOR *array)
{
    return array ? array_bytes(array->Width, array->Height, 0, array->Format, array->NumChannels) : 0;
}

/* Memory for these is created and mapped separately. */
static bool has_no_memory(unsigned int flags)
{
    return flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING);
}

static size_t bytes_3d(const CUDA_ARRAY3D_DESCRIPTOR *array)
{
    if (!array || has_no_memory(array->Flags))
        return 0;
    return array_bytes(array->Width, array->Height, array->Depth, array->Format, array->NumChannels);
}

/* Each level has half the edge of the one before. */
static size_t bytes_of_levels(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned int levels)
{
    size_t level = bytes_3d(array), bytes = 0;
    int dimensions = !array ? 0 : 1 + (array->Height > 0) + (array->Depth > 0);
    for (; levels > 0 && level > 0; levels--, level >>= dimensions)
        bytes += level;
    return bytes;
}

static CUresult settle(CUdevice device, size_t bytes, CUresult result, enum block_kind kind, void *array)
{
    if (result != CUDA_SUCCESS)
        limit_give_back(device, bytes);
    else if (device >= 0)
        ledger_add(kind, (uintptr_t)array, device, bytes);
    return result;
}

HOOK CUresult cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *pAllocateArray)
{
    const CUDA_ARRAY_DESCRIPTOR_v1 *array = pAllocateArray;
    size_t bytes = array ? array_bytes(array->Width, array->Height, 0, array->Format, array->NumChannels) : 0;
    CUdevice device = current_device();
    if (!limit_claim(device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuArrayCreate, pHandle, pAllocateArray);
    return settle(device, bytes, result, BLOCK_ARRAY, result ? NULL : *pHandle);
}

HOOK CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    size_t bytes = bytes_2d(pAllocateArray);
    CUdevice device = current_device();
    if (!limit_claim(device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuArrayCreate_v2, pHandle, pAllocateArray);
    return settle(device, bytes, result, BLOCK_ARRAY, result ? NULL : *pHandle);
}

HOOK CUresult cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *pAllocateArray)
{
    const CUDA_ARRAY3D_DESCRIPTOR_v1 *array = pAllocateArray;
    size_t bytes = array ? array_bytes(array->Width, array->Height, array->Depth, array->Format, array->NumChannels) : 0;
    CUdevice device = current_device();
    if (!limit_claim(device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuArray3DCreate, pHandle, pAllocateArray);
    return settle(device, bytes, result, BLOCK_ARRAY, result ? NULL : *pHandle);
}

HOOK CUresult cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    size_t bytes = bytes_3d(pAllocateArray);
    CUdevice device = current_device();
    if (!limit_claim(device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuArray3DCreate_v2, pHandle, pAllocateArray);
    return settle(device, bytes, result, BLOCK_ARRAY, result ? NULL : *pHandle);
}

HOOK CUresult cuMipmappedArrayCreate(CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                     unsigned int numMipmapLevels)
{
    size_t bytes = bytes_of_levels(pMipmappedArrayDesc, numMipmapLevels);
    CUdevice device = current_device();
    if (!limit_claim(device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = FORWARD(cuMipmappedArrayCreate, pHandle, pMipmappedArrayDesc, numMipmapLevels);
    return settle(device, bytes, result, BLOCK_MIPMAP, result ? NULL : *pHandle);
}
