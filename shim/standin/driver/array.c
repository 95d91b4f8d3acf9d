/* Arrays: rows of elements in device memory, without the real ones' tiling. */
#include "driver.h"

#include <string.h>

static size_t format_size(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0; /* block-compressed and video formats: not here */
    }
}

static void array_destroy(void *self)
{
    allocation_free(((CUarray)self)->memory, MEMORY_INTERNAL);
}

static size_t or_one(size_t extent)
{
    return extent ? extent : 1;
}

static CUresult place(CUarray array)
{
    const CUDA_ARRAY3D_DESCRIPTOR *descriptor = &array->descriptor;
    struct allocation *allocation;

    array->row = descriptor->Width * format_size(descriptor->Format) * descriptor->NumChannels;
    array->rows = or_one(descriptor->Height);
    array->bytes = array->row * array->rows * or_one(descriptor->Depth);
    TRY(allocate(MEMORY_INTERNAL, array->bytes, &allocation));
    array->memory = allocation->entry.start;
    return CUDA_SUCCESS;
}

static bool too_large(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    const size_t widest = (size_t)1 << 20;

    return descriptor->Width > widest || descriptor->Height > widest || descriptor->Depth > widest;
}

DRIVER(cuArray3DCreate_v2)(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    INVALID_IF(!pHandle || !pAllocateArray || !pAllocateArray->Width || too_large(pAllocateArray));
    unsigned channels = pAllocateArray->NumChannels;
    INVALID_IF(channels != 1 && channels != 2 && channels != 4);
    RETURN_IF(!format_size(pAllocateArray->Format), CUDA_ERROR_NOT_SUPPORTED);
    CUarray array = handle_new(HANDLE_ARRAY, sizeof *array, context_current(), array_destroy);
    RETURN_IF(!array, CUDA_ERROR_OUT_OF_MEMORY);
    array->descriptor = *pAllocateArray;
    CUresult result = place(array);
    if (result == CUDA_SUCCESS)
        *pHandle = array;
    else
        handle_close(array, HANDLE_ARRAY);
    return result;
}

DRIVER(cuArrayCreate_v2)(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    INVALID_IF(!pAllocateArray);
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {
        .Width = pAllocateArray->Width,
        .Height = pAllocateArray->Height,
        .Format = pAllocateArray->Format,
        .NumChannels = pAllocateArray->NumChannels,
    };
    return do_cuArray3DCreate_v2(pHandle, &descriptor);
}

DRIVER(cuArrayDestroy)(CUarray hArray)
{
    return handle_close(hArray, HANDLE_ARRAY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(cuArray3DGetDescriptor_v2)(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    INVALID_IF(!pArrayDescriptor);
    RETURN_IF(!handle_get(hArray, HANDLE_ARRAY), CUDA_ERROR_INVALID_HANDLE);
    *pArrayDescriptor = hArray->descriptor;
    return CUDA_SUCCESS;
}

DRIVER(cuArrayGetDescriptor_v2)(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    INVALID_IF(!pArrayDescriptor);
    RETURN_IF(!handle_get(hArray, HANDLE_ARRAY), CUDA_ERROR_INVALID_HANDLE);
    *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){
        .Width = hArray->descriptor.Width,
        .Height = hArray->descriptor.Height,
        .Format = hArray->descriptor.Format,
        .NumChannels = hArray->descriptor.NumChannels,
    };
    return CUDA_SUCCESS;
}

/* Only one-dimensional arrays are copied by an offset in bytes. */
static CUresult linear(CUarray array, size_t offset, size_t bytes, char **at)
{
    RETURN_IF(!handle_get(array, HANDLE_ARRAY), CUDA_ERROR_INVALID_HANDLE);
    INVALID_IF(offset > array->bytes || bytes > array->bytes - offset);
    *at = (char *)array->memory + offset;
    return CUDA_SUCCESS;
}

DRIVER(cuMemcpyHtoA_v2)(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount)
{
    char *destination;

    INVALID_IF(!srcHost);
    TRY(linear(dstArray, dstOffset, ByteCount, &destination));
    host_calls_wait_for_all();
    memcpy(destination, srcHost, ByteCount);
    return CUDA_SUCCESS;
}

DRIVER(cuMemcpyAtoH_v2)(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    char *source;

    INVALID_IF(!dstHost);
    TRY(linear(srcArray, srcOffset, ByteCount, &source));
    host_calls_wait_for_all();
    memcpy(dstHost, source, ByteCount);
    return CUDA_SUCCESS;
}
