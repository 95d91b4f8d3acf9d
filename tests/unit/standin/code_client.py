"""Loads files of device code, and prints as JSON what the driver found in each."""

import ctypes
import json
import sys
from itertools import count

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)


def parameters(function):
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    for index in count():
        if cuda.cuFuncGetParamInfo(function, ctypes.c_size_t(index), ctypes.byref(offset), ctypes.byref(size)):
            return
        yield offset.value, size.value


def functions(module):
    number = ctypes.c_uint()
    if cuda.cuModuleGetFunctionCount(ctypes.byref(number), module):
        return None
    handles = (ctypes.c_void_p * number.value)()
    cuda.cuModuleEnumerateFunctions(handles, number, module)
    names = {}
    for handle in map(ctypes.c_void_p, handles):
        name = ctypes.c_char_p()
        cuda.cuFuncGetName(ctypes.byref(name), handle)
        names[name.value.decode()] = list(parameters(handle))
    return names


def variable(module, name):
    """Its bytes in hex, or the error."""
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    error = cuda.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), module, name.encode())
    if error:
        return error
    content = ctypes.create_string_buffer(size.value)
    cuda.cuMemcpyDtoH_v2(content, address, size)
    return content.raw.hex()


def look_into(path, variables):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    error = cuda.cuModuleLoad(ctypes.byref(module), path.encode())
    if error:
        return {"error": error}
    return {
        "functions": functions(module),
        "variables": {name: variable(module, name) for name in variables},
        "unknown": cuda.cuModuleGetFunction(ctypes.byref(function), module, b"no_such_kernel"),
    }


path, *names = sys.argv[1:]
print(json.dumps(look_into(path, names)))
