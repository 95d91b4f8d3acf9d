/* Filling memory with a value of one, two or four bytes, in one or two dimensions. */
#include "driver.h"

#include <string.h>

static CUresult fill(CUdeviceptr address, const void *value, size_t value_size, size_t count)
{
    INVALID_IF(address % value_size || count > SIZE_MAX / value_size);
    INVALID_IF(!allocation_covers(address, count * value_size));
    host_calls_wait_for_all();
    if (value_size == 1) {
        memset((void *)address, *(const unsigned char *)value, count);
        return CUDA_SUCCESS;
    }
    for (char *at = (char *)address, *end = at + count * value_size; at < end; at += value_size)
        memcpy(at, value, value_size);
    return CUDA_SUCCESS;
}

static CUresult fill_2d(CUdeviceptr address, size_t pitch, const void *value, size_t value_size, size_t width,
                        size_t height)
{
    INVALID_IF(height > 1 && (pitch < width * value_size || pitch % value_size));
    for (size_t row = 0; row < height; row++)
        TRY(fill(address + row * pitch, value, value_size, width));
    return CUDA_SUCCESS;
}

DRIVER(cuMemsetD8_v2)(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return fill(dstDevice, &uc, sizeof uc, N);
}

DRIVER(cuMemsetD16_v2)(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    return fill(dstDevice, &us, sizeof us, N);
}

DRIVER(cuMemsetD32_v2)(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return fill(dstDevice, &ui, sizeof ui, N);
}

DRIVER(cuMemsetD2D8_v2)(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height)
{
    return fill_2d(dstDevice, dstPitch, &uc, sizeof uc, Width, Height);
}

DRIVER(cuMemsetD2D16_v2)(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height)
{
    return fill_2d(dstDevice, dstPitch, &us, sizeof us, Width, Height);
}

DRIVER(cuMemsetD2D32_v2)(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height)
{
    return fill_2d(dstDevice, dstPitch, &ui, sizeof ui, Width, Height);
}

DRIVER(cuMemsetD8Async)(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    TRY(stream_check(hStream));
    return fill(dstDevice, &uc, sizeof uc, N);
}

DRIVER(cuMemsetD16Async)(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
    TRY(stream_check(hStream));
    return fill(dstDevice, &us, sizeof us, N);
}

DRIVER(cuMemsetD32Async)(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    TRY(stream_check(hStream));
    return fill(dstDevice, &ui, sizeof ui, N);
}

DRIVER(cuMemsetD2D8Async)(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                          CUstream hStream)
{
    TRY(stream_check(hStream));
    return fill_2d(dstDevice, dstPitch, &uc, sizeof uc, Width, Height);
}

DRIVER(cuMemsetD2D16Async)(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
                           CUstream hStream)
{
    TRY(stream_check(hStream));
    return fill_2d(dstDevice, dstPitch, &us, sizeof us, Width, Height);
}

DRIVER(cuMemsetD2D32Async)(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
                           CUstream hStream)
{
    TRY(stream_check(hStream));
    return fill_2d(dstDevice, dstPitch, &ui, sizeof ui, Width, Height);
}
