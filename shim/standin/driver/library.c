/* Libraries: code that belongs to no context. Behind each stands one module. */
#include "driver.h"

static void library_destroy(void *self)
{
    handle_close(((CUlibrary)self)->module, HANDLE_MODULE);
}

static CUresult check(CUlibrary library)
{
    return handle_get(library, HANDLE_LIBRARY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult wrap(CUmodule module, CUlibrary *library)
{
    CUlibrary made = handle_new(HANDLE_LIBRARY, sizeof *made, NULL, library_destroy);

    RETURN_IF(!made, CUDA_ERROR_OUT_OF_MEMORY);
    made->module = module;
    module->library = made;
    module->handle.context = NULL; /* it lives until the library is unloaded */
    *library = made;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuLibraryLoadData)(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                               void **libraryOptionValues, unsigned int numLibraryOptions)
{
    CUmodule module;

    INVALID_IF(!library || (numJitOptions && (!jitOptions || !jitOptionsValues)));
    INVALID_IF(numLibraryOptions && (!libraryOptions || !libraryOptionValues));
    TRY(module_new(code, &module));
    return wrap(module, library);
}

DRIVER_INIT(cuLibraryLoadFromFile)(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                                   void **jitOptionsValues, unsigned int numJitOptions,
                                   CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                   unsigned int numLibraryOptions)
{
    CUmodule module;

    INVALID_IF(!library || (numJitOptions && (!jitOptions || !jitOptionsValues)));
    INVALID_IF(numLibraryOptions && (!libraryOptions || !libraryOptionValues));
    TRY(module_load_file(fileName, &module));
    return wrap(module, library);
}

DRIVER_INIT(cuLibraryUnload)(CUlibrary library)
{
    return handle_close(library, HANDLE_LIBRARY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_INIT(cuLibraryGetKernel)(CUkernel *pKernel, CUlibrary library, const char *name)
{
    INVALID_IF(!pKernel);
    TRY(check(library));
    return module_function(library->module, name, HANDLE_KERNEL, (struct function **)pKernel);
}

DRIVER_INIT(cuLibraryGetKernelCount)(unsigned int *count, CUlibrary lib)
{
    INVALID_IF(!count);
    TRY(check(lib));
    RETURN_IF(lib->module->code.opaque, CUDA_ERROR_NOT_SUPPORTED);
    *count = (unsigned)lib->module->code.kernel_count;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuLibraryEnumerateKernels)(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    INVALID_IF(!kernels);
    TRY(check(lib));
    const struct code *code = &lib->module->code;
    RETURN_IF(code->opaque, CUDA_ERROR_NOT_SUPPORTED);
    for (unsigned i = 0; i < numKernels && i < code->kernel_count; i++)
        TRY(module_function(lib->module, code->kernels[i].name, HANDLE_KERNEL, (struct function **)&kernels[i]));
    return CUDA_SUCCESS;
}

DRIVER(cuLibraryGetModule)(CUmodule *pMod, CUlibrary library)
{
    INVALID_IF(!pMod);
    TRY(check(library));
    RETURN_IF(library->module->invalid, CUDA_ERROR_INVALID_IMAGE);
    *pMod = library->module;
    return CUDA_SUCCESS;
}

DRIVER(cuLibraryGetGlobal)(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    TRY(check(library));
    return module_variable(library->module, name, MEMORY_INTERNAL, dptr, bytes);
}

DRIVER(cuLibraryGetManaged)(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    TRY(check(library));
    return module_variable(library->module, name, MEMORY_MANAGED, dptr, bytes);
}

DRIVER(cuKernelGetFunction)(CUfunction *pFunc, CUkernel kernel)
{
    INVALID_IF(!pFunc);
    RETURN_IF(!handle_get(kernel, HANDLE_KERNEL), CUDA_ERROR_INVALID_HANDLE);
    const struct function *function = (const struct function *)kernel;
    return module_function(function->module, function->name, HANDLE_FUNCTION, (struct function **)pFunc);
}

DRIVER_INIT(cuKernelGetLibrary)(CUlibrary *pLib, CUkernel kernel)
{
    INVALID_IF(!pLib);
    RETURN_IF(!handle_get(kernel, HANDLE_KERNEL), CUDA_ERROR_INVALID_HANDLE);
    *pLib = ((const struct function *)kernel)->module->library;
    return CUDA_SUCCESS;
}
