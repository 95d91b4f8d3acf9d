"""A small job with cuda-bindings: query, allocate, copy both ways, stream, event, module, launch."""

import ctypes

from cuda.bindings import driver

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 data, .param .u32 count, .param .f32 factor)
{
    ret;
}
"""


def check(answer):
    """The values behind a successful status."""
    status, *values = answer
    assert status == driver.CUresult.CUDA_SUCCESS, status
    return values[0] if len(values) == 1 else tuple(values)


assert driver.cuDeviceGetCount()[0] == driver.CUresult.CUDA_ERROR_NOT_INITIALIZED
check(driver.cuInit(0))
assert check(driver.cuDriverGetVersion()) == 13000
assert check(driver.cuDeviceGetCount()) == 1
device = check(driver.cuDeviceGet(0))
assert check(driver.cuDeviceGetName(64, device)).rstrip(b"\0 ") == b"gdbcuda stand-in GPU"
assert check(driver.cuDeviceTotalMem(device)) == 64 << 20
warp = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_WARP_SIZE
assert check(driver.cuDeviceGetAttribute(warp, device)) == 32
assert driver.cuMemAlloc(16)[0] == driver.CUresult.CUDA_ERROR_INVALID_CONTEXT

context = check(driver.cuDevicePrimaryCtxRetain(device))
check(driver.cuCtxSetCurrent(context))
sent = bytes(range(256)) * 16
block = check(driver.cuMemAlloc(len(sent)))
check(driver.cuMemcpyHtoD(block, sent, len(sent)))
received = bytearray(len(sent))
check(driver.cuMemcpyDtoH(received, block, len(sent)))
assert bytes(received) == sent
assert check(driver.cuMemGetInfo()) == ((64 << 20) - len(sent), 64 << 20)
assert driver.cuMemAlloc(64 << 20)[0] == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY

stream = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING.value))
start, end = check(driver.cuEventCreate(0)), check(driver.cuEventCreate(0))
check(driver.cuEventRecord(start, stream))
check(driver.cuMemsetD8Async(block, 7, len(sent), stream))
check(driver.cuEventRecord(end, stream))
check(driver.cuEventSynchronize(end))
assert 0 < check(driver.cuEventElapsedTime(start, end)) < 10_000
check(driver.cuMemcpyDtoH(received, block, len(sent)))
assert set(received) == {7}

module = check(driver.cuModuleLoadData(PTX))
kernel = check(driver.cuModuleGetFunction(module, b"scale"))
assert driver.cuModuleGetFunction(module, b"scalf")[0] == driver.CUresult.CUDA_ERROR_NOT_FOUND
assert check(driver.cuFuncGetParamInfo(kernel, 2)) == (12, 4)
arguments = ((block, 5, 2.0), (None, ctypes.c_uint, ctypes.c_float))
check(driver.cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, stream, arguments, 0))
too_wide = driver.cuLaunchKernel(kernel, 2, 1, 1, 2048, 1, 1, 0, stream, arguments, 0)
assert too_wide == (driver.CUresult.CUDA_ERROR_INVALID_VALUE,)
check(driver.cuStreamSynchronize(stream))

check(driver.cuModuleUnload(module))
check(driver.cuMemFree(block))
assert driver.cuMemFree(block)[0] == driver.CUresult.CUDA_ERROR_INVALID_VALUE
assert driver.cuGraphClone(driver.CUgraph(0))[0] == driver.CUresult.CUDA_ERROR_NOT_SUPPORTED
check(driver.cuDevicePrimaryCtxRelease(device))
print("all done")
