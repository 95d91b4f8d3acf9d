/* WRONG: built without -g. It works, and under gdb it is addresses only.
   Shows: no .debug_info section; no source lines, no arguments, `break no_debug.c:15` finds nothing.
   conform: nothing, gdbcuda check says it */
#include <dlfcn.h>
#include <stdio.h>

#include "gdbcuda_api.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    fprintf(stderr, "no_debug: cuMemAlloc_v2 of %zu bytes\n", bytesize);
    if (bytesize > (size_t)1 << 30)
        return CUDA_ERROR_OUT_OF_MEMORY;
    __typeof__(&cuMemAlloc_v2) real = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    return real(dptr, bytesize);
}
