/* Copies and fills in one dimension, and to and from variables. */
#include "runtime.h"

static cudaError_t copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

    if (!count)
        return cudaSuccess;
    INVALID_IF(!dst || !src);
    switch (kind) {
    case cudaMemcpyHostToDevice: return FROM_DRIVER(driver.cuMemcpyHtoD_v2(to, src, count));
    case cudaMemcpyDeviceToHost: return FROM_DRIVER(driver.cuMemcpyDtoH_v2(dst, from, count));
    case cudaMemcpyDeviceToDevice: return FROM_DRIVER(driver.cuMemcpyDtoD_v2(to, from, count));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: return FROM_DRIVER(driver.cuMemcpy(to, from, count));
    default: return cudaErrorInvalidMemcpyDirection;
    }
}

static cudaError_t copy_async(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

    if (!count)
        return cudaSuccess;
    INVALID_IF(!dst || !src);
    switch (kind) {
    case cudaMemcpyHostToDevice: return FROM_DRIVER(driver.cuMemcpyHtoDAsync_v2(to, src, count, stream));
    case cudaMemcpyDeviceToHost: return FROM_DRIVER(driver.cuMemcpyDtoHAsync_v2(dst, from, count, stream));
    case cudaMemcpyDeviceToDevice: return FROM_DRIVER(driver.cuMemcpyDtoDAsync_v2(to, from, count, stream));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: return FROM_DRIVER(driver.cuMemcpyAsync(to, from, count, stream));
    default: return cudaErrorInvalidMemcpyDirection;
    }
}

RUNTIME(cudaMemcpy)(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    return copy(dst, src, count, kind);
}

RUNTIME(cudaMemcpyAsync)(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_async(dst, src, count, kind, stream);
}

static cudaError_t peers(int dstDevice, int srcDevice, CUcontext *to, CUcontext *from)
{
    TRY(check_device(dstDevice));
    TRY(check_device(srcDevice));
    TRY(device_context(dstDevice, to));
    return device_context(srcDevice, from);
}

RUNTIME(cudaMemcpyPeer)(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
    CUcontext to, from;

    TRY(peers(dstDevice, srcDevice, &to, &from));
    return FROM_DRIVER(driver.cuMemcpyPeer((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count));
}

RUNTIME(cudaMemcpyPeerAsync)(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
                             cudaStream_t stream)
{
    CUcontext to, from;

    TRY(peers(dstDevice, srcDevice, &to, &from));
    return FROM_DRIVER(driver.cuMemcpyPeerAsync((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count, stream));
}

RUNTIME(cudaMemset)(void *devPtr, int value, size_t count)
{
    return FROM_DRIVER(driver.cuMemsetD8_v2((CUdeviceptr)devPtr, (unsigned char)value, count));
}

RUNTIME(cudaMemsetAsync)(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    return FROM_DRIVER(driver.cuMemsetD8Async((CUdeviceptr)devPtr, (unsigned char)value, count, stream));
}

RUNTIME(cudaMemset2D)(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    return FROM_DRIVER(driver.cuMemsetD2D8_v2((CUdeviceptr)devPtr, pitch, (unsigned char)value, width, height));
}

RUNTIME(cudaMemset2DAsync)(void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    return FROM_DRIVER(
        driver.cuMemsetD2D8Async((CUdeviceptr)devPtr, pitch, (unsigned char)value, width, height, stream));
}

RUNTIME(cudaMemset3D)(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
    for (size_t z = 0; z < extent.depth; z++) {
        CUdeviceptr slice = (CUdeviceptr)pitchedDevPtr.ptr + z * pitchedDevPtr.ysize * pitchedDevPtr.pitch;
        TRY_DRIVER(driver.cuMemsetD2D8_v2(slice, pitchedDevPtr.pitch, (unsigned char)value, extent.width,
                                          extent.height));
    }
    return cudaSuccess;
}

RUNTIME(cudaMemset3DAsync)(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
                           cudaStream_t stream)
{
    for (size_t z = 0; z < extent.depth; z++) {
        CUdeviceptr slice = (CUdeviceptr)pitchedDevPtr.ptr + z * pitchedDevPtr.ysize * pitchedDevPtr.pitch;
        TRY_DRIVER(driver.cuMemsetD2D8Async(slice, pitchedDevPtr.pitch, (unsigned char)value, extent.width,
                                            extent.height, stream));
    }
    return cudaSuccess;
}

/* The variable's memory from `offset` on, when `count` bytes of it are inside. */
static cudaError_t part_of(const void *symbol, size_t count, size_t offset, void **address)
{
    CUdeviceptr start;
    size_t size;

    TRY(registered_variable(symbol, &start, &size));
    INVALID_IF(offset > size || count > size - offset);
    *address = (void *)(start + offset);
    return cudaSuccess;
}

RUNTIME(cudaMemcpyToSymbol)(const void *symbol, const void *src, size_t count, size_t offset,
                            enum cudaMemcpyKind kind)
{
    void *address;

    TRY(part_of(symbol, count, offset, &address));
    return copy(address, src, count, kind);
}

RUNTIME(cudaMemcpyFromSymbol)(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    void *address;

    TRY(part_of(symbol, count, offset, &address));
    return copy(dst, address, count, kind);
}

RUNTIME(cudaMemcpyToSymbolAsync)(const void *symbol, const void *src, size_t count, size_t offset,
                                 enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *address;

    TRY(part_of(symbol, count, offset, &address));
    return copy_async(address, src, count, kind, stream);
}

RUNTIME(cudaMemcpyFromSymbolAsync)(void *dst, const void *symbol, size_t count, size_t offset,
                                   enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *address;

    TRY(part_of(symbol, count, offset, &address));
    return copy_async(dst, address, count, kind, stream);
}

RUNTIME(cudaGetSymbolAddress)(void **devPtr, const void *symbol)
{
    size_t size;

    INVALID_IF(!devPtr);
    return registered_variable(symbol, (CUdeviceptr *)devPtr, &size);
}

RUNTIME(cudaGetSymbolSize)(size_t *size, const void *symbol)
{
    CUdeviceptr address;

    INVALID_IF(!size);
    return registered_variable(symbol, &address, size);
}
