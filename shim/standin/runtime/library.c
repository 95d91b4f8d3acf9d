/* Libraries of device code that the program loads itself. */
#include "runtime.h"

RUNTIME_INIT(cudaLibraryLoadData)(cudaLibrary_t *library, const void *code, enum cudaJitOption *jitOptions,
                                  void **jitOptionsValues, unsigned int numJitOptions,
                                  enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                                  unsigned int numLibraryOptions)
{
    return FROM_DRIVER(driver.cuLibraryLoadData(library, code, (CUjit_option *)jitOptions, jitOptionsValues,
                                                numJitOptions, (CUlibraryOption *)libraryOptions,
                                                libraryOptionValues, numLibraryOptions));
}

RUNTIME_INIT(cudaLibraryLoadFromFile)(cudaLibrary_t *library, const char *fileName, enum cudaJitOption *jitOptions,
                                      void **jitOptionsValues, unsigned int numJitOptions,
                                      enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                                      unsigned int numLibraryOptions)
{
    return FROM_DRIVER(driver.cuLibraryLoadFromFile(library, fileName, (CUjit_option *)jitOptions, jitOptionsValues,
                                                    numJitOptions, (CUlibraryOption *)libraryOptions,
                                                    libraryOptionValues, numLibraryOptions));
}

RUNTIME_INIT(cudaLibraryUnload)(cudaLibrary_t library)
{
    return FROM_DRIVER(driver.cuLibraryUnload(library));
}

RUNTIME_INIT(cudaLibraryGetKernel)(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
    return FROM_DRIVER(driver.cuLibraryGetKernel(pKernel, library, name));
}

RUNTIME_INIT(cudaLibraryGetKernelCount)(unsigned int *count, cudaLibrary_t lib)
{
    return FROM_DRIVER(driver.cuLibraryGetKernelCount(count, lib));
}

RUNTIME_INIT(cudaLibraryEnumerateKernels)(cudaKernel_t *kernels, unsigned int numKernels, cudaLibrary_t lib)
{
    return FROM_DRIVER(driver.cuLibraryEnumerateKernels(kernels, numKernels, lib));
}

RUNTIME(cudaLibraryGetGlobal)(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    return FROM_DRIVER(driver.cuLibraryGetGlobal((CUdeviceptr *)dptr, bytes, library, name));
}

RUNTIME(cudaLibraryGetManaged)(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    return FROM_DRIVER(driver.cuLibraryGetManaged((CUdeviceptr *)dptr, bytes, library, name));
}
