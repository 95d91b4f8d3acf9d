/* Questions about a kernel, asked of its CUfunction or its CUkernel. */
#include "driver.h"

#include <stdlib.h>

void function_destroy(void *self)
{
    free(((struct function *)self)->name);
}

struct function *function_get(const void *pointer)
{
    struct function *function = handle_get(pointer, HANDLE_FUNCTION);

    return function ? function : handle_get(pointer, HANDLE_KERNEL);
}

static CUresult get_attribute(int *value, CUfunction_attribute attribute, const struct function *function)
{
    INVALID_IF(!value || (unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = MODEL_THREADS_PER_BLOCK; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = MODEL_COMPUTE_MAJOR * 10 + MODEL_COMPUTE_MINOR; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function_shared_limit(function); break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->preferred_carveout; break;
    default: *value = 0; break; /* shared, constant and local memory of code that was not compiled: none */
    }
    return CUDA_SUCCESS;
}

int function_shared_limit(const struct function *function)
{
    return function->max_dynamic_shared ? function->max_dynamic_shared : MODEL_SHARED_PER_BLOCK;
}

static CUresult set_attribute(struct function *function, CUfunction_attribute attribute, int value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        INVALID_IF(value < 0 || value > MODEL_SHARED_PER_BLOCK_OPTIN);
        function->max_dynamic_shared = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        INVALID_IF(value < -1 || value > 100);
        function->preferred_carveout = value;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult get_parameter(const struct function *function, size_t index, size_t *offset, size_t *size)
{
    const struct kernel *kernel = function->kernel;

    INVALID_IF(!offset);
    RETURN_IF(!kernel || !kernel->parameters_known, CUDA_ERROR_NOT_SUPPORTED);
    INVALID_IF(index >= kernel->parameter_count);
    *offset = kernel->parameters[index].offset;
    if (size)
        *size = kernel->parameters[index].size;
    return CUDA_SUCCESS;
}

#define CHECKED(function, handle, kind) \
    struct function *function = handle_get(handle, kind); \
    RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE)

DRIVER(cuFuncGetAttribute)(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct function *function = function_get(hfunc);

    RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE);
    return get_attribute(pi, attrib, function);
}

DRIVER(cuFuncSetAttribute)(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct function *function = function_get(hfunc);

    RETURN_IF(!function, CUDA_ERROR_INVALID_HANDLE);
    return set_attribute(function, attrib, value);
}

DRIVER(cuFuncSetCacheConfig)(CUfunction hfunc, CUfunc_cache config)
{
    RETURN_IF(!function_get(hfunc), CUDA_ERROR_INVALID_HANDLE);
    INVALID_IF((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL);
    return CUDA_SUCCESS;
}

DRIVER(cuFuncGetModule)(CUmodule *hmod, CUfunction hfunc)
{
    CHECKED(function, hfunc, HANDLE_FUNCTION);
    INVALID_IF(!hmod);
    *hmod = function->module;
    return CUDA_SUCCESS;
}

DRIVER(cuFuncGetName)(const char **name, CUfunction hfunc)
{
    CHECKED(function, hfunc, HANDLE_FUNCTION);
    INVALID_IF(!name);
    *name = function->name;
    return CUDA_SUCCESS;
}

DRIVER(cuFuncGetParamInfo)(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    CHECKED(function, func, HANDLE_FUNCTION);
    return get_parameter(function, paramIndex, paramOffset, paramSize);
}

DRIVER(cuFuncIsLoaded)(CUfunctionLoadingState *state, CUfunction function)
{
    INVALID_IF(!state);
    RETURN_IF(!function_get(function), CUDA_ERROR_INVALID_HANDLE);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

DRIVER(cuFuncLoad)(CUfunction function)
{
    return function_get(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_INIT(cuKernelGetAttribute)(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    CHECKED(function, kernel, HANDLE_KERNEL);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    return get_attribute(pi, attrib, function);
}

DRIVER_INIT(cuKernelSetAttribute)(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    CHECKED(function, kernel, HANDLE_KERNEL);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    return set_attribute(function, attrib, val);
}

DRIVER_INIT(cuKernelSetCacheConfig)(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    RETURN_IF(!handle_get(kernel, HANDLE_KERNEL), CUDA_ERROR_INVALID_HANDLE);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    INVALID_IF((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuKernelGetName)(const char **name, CUkernel hfunc)
{
    CHECKED(function, hfunc, HANDLE_KERNEL);
    INVALID_IF(!name);
    *name = function->name;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuKernelGetParamInfo)(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    CHECKED(function, kernel, HANDLE_KERNEL);
    return get_parameter(function, paramIndex, paramOffset, paramSize);
}
