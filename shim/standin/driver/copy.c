/* Copies in one dimension. Streams run at once, so the asynchronous ones are the same copies. */
#include "driver.h"

#include <string.h>

/* Where the device's side of a copy is, when all of it is memory that the driver knows. */
static CUresult device_side(CUdeviceptr address, size_t bytes)
{
    INVALID_IF(!allocation_covers(address, bytes));
    return CUDA_SUCCESS;
}

/* With unified addresses either side may be plain host memory, which the driver knows nothing about. */
static CUresult any_side(CUdeviceptr address, size_t bytes)
{
    INVALID_IF(!address);
    return allocation_at(address) ? device_side(address, bytes) : CUDA_SUCCESS;
}

static CUresult copy(void *destination, const void *source, size_t bytes)
{
    host_calls_wait_for_all();
    if (bytes)
        memmove(destination, source, bytes);
    return CUDA_SUCCESS;
}

DRIVER(cuMemcpyHtoD_v2)(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    INVALID_IF(ByteCount && !srcHost);
    TRY(device_side(dstDevice, ByteCount));
    return copy((void *)dstDevice, srcHost, ByteCount);
}

DRIVER(cuMemcpyDtoH_v2)(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    INVALID_IF(ByteCount && !dstHost);
    TRY(device_side(srcDevice, ByteCount));
    return copy(dstHost, (const void *)srcDevice, ByteCount);
}

DRIVER(cuMemcpyDtoD_v2)(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    TRY(device_side(dstDevice, ByteCount));
    TRY(device_side(srcDevice, ByteCount));
    return copy((void *)dstDevice, (const void *)srcDevice, ByteCount);
}

DRIVER(cuMemcpy)(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    if (ByteCount) {
        TRY(any_side(dst, ByteCount));
        TRY(any_side(src, ByteCount));
    }
    return copy((void *)dst, (const void *)src, ByteCount);
}

DRIVER(cuMemcpyHtoDAsync_v2)(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    TRY(stream_check(hStream));
    return do_cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount);
}

DRIVER(cuMemcpyDtoHAsync_v2)(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    TRY(stream_check(hStream));
    return do_cuMemcpyDtoH_v2(dstHost, srcDevice, ByteCount);
}

DRIVER(cuMemcpyDtoDAsync_v2)(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    TRY(stream_check(hStream));
    return do_cuMemcpyDtoD_v2(dstDevice, srcDevice, ByteCount);
}

DRIVER(cuMemcpyAsync)(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    TRY(stream_check(hStream));
    return do_cuMemcpy(dst, src, ByteCount);
}

DRIVER(cuMemcpyPeer)(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                     size_t ByteCount)
{
    RETURN_IF(!handle_get(dstContext, HANDLE_CONTEXT) || !handle_get(srcContext, HANDLE_CONTEXT),
              CUDA_ERROR_INVALID_CONTEXT);
    return do_cuMemcpyDtoD_v2(dstDevice, srcDevice, ByteCount);
}

DRIVER(cuMemcpyPeerAsync)(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                          size_t ByteCount, CUstream hStream)
{
    TRY(stream_check(hStream));
    return do_cuMemcpyPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount);
}
