/* The module functions of the API. */
#include "driver.h"

static CUresult check(CUmodule module)
{
    return handle_get(module, HANDLE_MODULE) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER(cuModuleLoad)(CUmodule *module, const char *fname)
{
    return module_load_file(fname, module);
}

DRIVER(cuModuleLoadData)(CUmodule *module, const void *image)
{
    return module_load(image, module);
}

DRIVER(cuModuleLoadDataEx)(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options,
                           void **optionValues)
{
    INVALID_IF(numOptions && (!options || !optionValues));
    return module_load(image, module);
}

DRIVER(cuModuleLoadFatBinary)(CUmodule *module, const void *fatCubin)
{
    return module_load(fatCubin, module);
}

DRIVER(cuModuleUnload)(CUmodule hmod)
{
    TRY(check(hmod));
    RETURN_IF(hmod->library, CUDA_ERROR_NOT_PERMITTED);
    handle_close(hmod, HANDLE_MODULE);
    return CUDA_SUCCESS;
}

DRIVER_ANY(cuModuleGetLoadingMode)(CUmoduleLoadingMode *mode)
{
    INVALID_IF(!mode);
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

DRIVER(cuModuleGetFunction)(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    INVALID_IF(!hfunc);
    TRY(check(hmod));
    return module_function(hmod, name, HANDLE_FUNCTION, (struct function **)hfunc);
}

DRIVER(cuModuleGetFunctionCount)(unsigned int *count, CUmodule mod)
{
    INVALID_IF(!count);
    TRY(check(mod));
    RETURN_IF(mod->code.opaque, CUDA_ERROR_NOT_SUPPORTED);
    *count = (unsigned)mod->code.kernel_count;
    return CUDA_SUCCESS;
}

DRIVER(cuModuleEnumerateFunctions)(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    INVALID_IF(!functions);
    TRY(check(mod));
    RETURN_IF(mod->code.opaque, CUDA_ERROR_NOT_SUPPORTED);
    for (unsigned i = 0; i < numFunctions && i < mod->code.kernel_count; i++)
        TRY(module_function(mod, mod->code.kernels[i].name, HANDLE_FUNCTION, (struct function **)&functions[i]));
    return CUDA_SUCCESS;
}

DRIVER(cuModuleGetGlobal_v2)(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    TRY(check(hmod));
    return module_variable(hmod, name, MEMORY_INTERNAL, dptr, bytes);
}
