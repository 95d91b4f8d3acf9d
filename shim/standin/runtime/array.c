/* Arrays, and copies with a shape. A cudaArray_t is the driver's CUarray under another name. */
#include "runtime.h"

static const struct format {
    CUarray_format format;
    enum cudaChannelFormatKind kind;
    int bits;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

/* One that the driver refuses, when there is none. */
static CUarray_format format_of(const struct cudaChannelFormatDesc *desc)
{
    for (size_t i = 0; i < LENGTH(formats); i++)
        if (formats[i].kind == desc->f && formats[i].bits == desc->x)
            return formats[i].format;
    return CU_AD_FORMAT_MAX;
}

/* Of an array that exists, so one of the list. */
static const struct format *described(CUarray_format format)
{
    size_t i = 0;

    while (i + 1 < LENGTH(formats) && formats[i].format != format)
        i++;
    return &formats[i];
}

PLAIN(struct cudaChannelFormatDesc, cudaCreateChannelDesc)(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

RUNTIME(cudaMalloc3DArray)(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                           unsigned int flags)
{
    INVALID_IF(!array || !desc);
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {
        .Width = extent.width,
        .Height = extent.height,
        .Depth = extent.depth,
        .Format = format_of(desc),
        .NumChannels = 1u + (desc->y != 0) + (desc->z != 0) + (desc->w != 0),
        .Flags = flags,
    };
    return FROM_DRIVER(driver.cuArray3DCreate_v2((CUarray *)array, &descriptor));
}

RUNTIME(cudaMallocArray)(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                         unsigned int flags)
{
    return do_cudaMalloc3DArray(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

RUNTIME(cudaFreeArray)(cudaArray_t array)
{
    return array ? FROM_DRIVER(driver.cuArrayDestroy((CUarray)array)) : cudaSuccess;
}

RUNTIME(cudaArrayGetInfo)(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
                          cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR found;

    TRY_DRIVER(driver.cuArray3DGetDescriptor_v2(&found, (CUarray)array));
    int bits = described(found.Format)->bits;
    unsigned channels = found.NumChannels;
    if (desc)
        *desc = (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                               channels > 3 ? bits : 0, described(found.Format)->kind};
    if (extent)
        *extent = (struct cudaExtent){found.Width, found.Height, found.Depth};
    if (flags)
        *flags = found.Flags;
    return cudaSuccess;
}

RUNTIME(cudaGetChannelDesc)(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    INVALID_IF(!desc);
    return do_cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)array);
}

static cudaError_t element_size(cudaArray_const_t array, size_t *size)
{
    CUDA_ARRAY3D_DESCRIPTOR found;

    TRY_DRIVER(driver.cuArray3DGetDescriptor_v2(&found, (CUarray)array));
    *size = (size_t)described(found.Format)->bits / 8 * found.NumChannels;
    return cudaSuccess;
}

static cudaError_t check_kind(enum cudaMemcpyKind kind)
{
    return (unsigned)kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection : cudaSuccess;
}

/* Addresses are unified, so the kind of a copy only has to be a valid one. */
static CUDA_MEMCPY2D flat(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height)
{
    return (CUDA_MEMCPY2D){
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (CUdeviceptr)src,
        .srcPitch = spitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (CUdeviceptr)dst,
        .dstPitch = dpitch,
        .WidthInBytes = width,
        .Height = height,
    };
}

static void from_array(CUDA_MEMCPY2D *copy, cudaArray_const_t array, size_t x, size_t y)
{
    copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->srcArray = (CUarray)array;
    copy->srcXInBytes = x;
    copy->srcY = y;
}

static void to_array(CUDA_MEMCPY2D *copy, cudaArray_t array, size_t x, size_t y)
{
    copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->dstArray = (CUarray)array;
    copy->dstXInBytes = x;
    copy->dstY = y;
}

RUNTIME(cudaMemcpy2D)(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                      enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D copy = flat(dst, dpitch, src, spitch, width, height);

    TRY(check_kind(kind));
    RETURN_IF(dpitch < width || spitch < width, cudaErrorInvalidPitchValue);
    return FROM_DRIVER(driver.cuMemcpy2DUnaligned_v2(&copy));
}

RUNTIME(cudaMemcpy2DAsync)(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                           enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D copy = flat(dst, dpitch, src, spitch, width, height);

    TRY(check_kind(kind));
    RETURN_IF(dpitch < width || spitch < width, cudaErrorInvalidPitchValue);
    return FROM_DRIVER(driver.cuMemcpy2DAsync_v2(&copy, stream));
}

RUNTIME(cudaMemcpy2DToArrayAsync)(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D copy = flat(NULL, 0, src, spitch, width, height);

    TRY(check_kind(kind));
    to_array(&copy, dst, wOffset, hOffset);
    return FROM_DRIVER(driver.cuMemcpy2DAsync_v2(&copy, stream));
}

RUNTIME(cudaMemcpy2DToArray)(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
                             size_t width, size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D copy = flat(NULL, 0, src, spitch, width, height);

    TRY(check_kind(kind));
    to_array(&copy, dst, wOffset, hOffset);
    return FROM_DRIVER(driver.cuMemcpy2DUnaligned_v2(&copy));
}

RUNTIME(cudaMemcpy2DFromArrayAsync)(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                    size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D copy = flat(dst, dpitch, NULL, 0, width, height);

    TRY(check_kind(kind));
    from_array(&copy, src, wOffset, hOffset);
    return FROM_DRIVER(driver.cuMemcpy2DAsync_v2(&copy, stream));
}

RUNTIME(cudaMemcpy2DFromArray)(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                               size_t width, size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D copy = flat(dst, dpitch, NULL, 0, width, height);

    TRY(check_kind(kind));
    from_array(&copy, src, wOffset, hOffset);
    return FROM_DRIVER(driver.cuMemcpy2DUnaligned_v2(&copy));
}

/* With an array on one side, widths and x positions count its elements; without one, bytes. */
static cudaError_t translate(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *copy)
{
    size_t unit = 1;

    INVALID_IF(!p || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr));
    TRY(check_kind(p->kind));
    if (p->srcArray || p->dstArray)
        TRY(element_size(p->srcArray ? p->srcArray : p->dstArray, &unit));
    *copy = (CUDA_MEMCPY3D){
        .srcXInBytes = p->srcPos.x * (p->srcArray ? unit : 1),
        .srcY = p->srcPos.y,
        .srcZ = p->srcPos.z,
        .srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
        .srcDevice = (CUdeviceptr)p->srcPtr.ptr,
        .srcArray = (CUarray)p->srcArray,
        .srcPitch = p->srcPtr.pitch,
        .srcHeight = p->srcPtr.ysize,
        .dstXInBytes = p->dstPos.x * (p->dstArray ? unit : 1),
        .dstY = p->dstPos.y,
        .dstZ = p->dstPos.z,
        .dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
        .dstDevice = (CUdeviceptr)p->dstPtr.ptr,
        .dstArray = (CUarray)p->dstArray,
        .dstPitch = p->dstPtr.pitch,
        .dstHeight = p->dstPtr.ysize,
        .WidthInBytes = p->extent.width * unit,
        .Height = p->extent.height,
        .Depth = p->extent.depth,
    };
    return cudaSuccess;
}

RUNTIME(cudaMemcpy3D)(const struct cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D copy;

    TRY(translate(p, &copy));
    return FROM_DRIVER(driver.cuMemcpy3D_v2(&copy));
}

RUNTIME(cudaMemcpy3DAsync)(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    CUDA_MEMCPY3D copy;

    TRY(translate(p, &copy));
    return FROM_DRIVER(driver.cuMemcpy3DAsync_v2(&copy, stream));
}
