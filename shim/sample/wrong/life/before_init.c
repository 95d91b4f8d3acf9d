/* WRONG: makes what its wrappers need when cuInit is called.
   Shows: a program that asks for memory before cuInit, and would hear CUDA_ERROR_NOT_INITIALIZED, crashes.
   conform: life/before-init: a program that makes calls before cuInit ends with SIGSEGV */
#include <stdlib.h>

#include "sample/next.h"

static size_t *used;

CUresult cuInit(unsigned int Flags)
{
    used = calloc(1, sizeof *used);
    return NEXT(cuInit)(Flags);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    *used += bytesize;
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
