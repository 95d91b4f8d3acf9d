"""What a monitor asks, with nvidia-ml-py, in a process that also uses the driver."""

import ctypes
import os
from contextlib import suppress

import pynvml

pynvml.nvmlInit()
assert pynvml.nvmlDeviceGetCount() == 2
handle = pynvml.nvmlDeviceGetHandleByIndex(1)
assert pynvml.nvmlDeviceGetName(handle) == "gdbcuda stand-in GPU"
assert pynvml.nvmlSystemGetCudaDriverVersion() == 13000
assert pynvml.nvmlSystemGetDriverVersion().split(".")[0].isdigit()

uuid, pci = pynvml.nvmlDeviceGetUUID(handle), pynvml.nvmlDeviceGetPciInfo(handle)
assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID(uuid)) == 1
assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByPciBusId(pci.busId)) == 1
assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy)) == 1
assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleBySerial(pynvml.nvmlDeviceGetSerial(handle))) == 1

assert 0 < pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU) < 100
assert pynvml.nvmlDeviceGetPowerUsage(handle) < pynvml.nvmlDeviceGetEnforcedPowerLimit(handle)
assert pynvml.nvmlDeviceGetUtilizationRates(handle).gpu == 0
assert pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM) > 0
assert pynvml.nvmlDeviceGetCudaComputeCapability(handle) == (9, 0)
assert pynvml.nvmlDeviceGetComputeRunningProcesses(handle) == []
with suppress(pynvml.NVMLError_NotSupported):
    raise AssertionError(pynvml.nvmlDeviceGetEccMode(handle))

# the driver allocates on the device that NVML calls 1, and CUDA calls 0
cuda = ctypes.CDLL("libcuda.so.1")
context, block = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(3 << 20)) == 0
memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
assert (memory.total, memory.used, memory.free) == (64 << 20, 3 << 20, 61 << 20)
assert pynvml.nvmlDeviceGetMemoryInfo(handle, pynvml.nvmlMemory_v2).used == 3 << 20
(process,) = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
assert (process.pid, process.usedGpuMemory) == (os.getpid(), 3 << 20)
assert pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used == 0
assert cuda.cuCtxDestroy_v2(context) == 0
assert pynvml.nvmlDeviceGetMemoryInfo(handle).used == 0

pynvml.nvmlShutdown()
try:
    pynvml.nvmlDeviceGetCount()
except pynvml.NVMLError_Uninitialized:
    print("all asked")
