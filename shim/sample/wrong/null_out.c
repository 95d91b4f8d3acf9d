/* WRONG: allocates into a variable of its own and forgets to write *dptr.
   Shows: cuMemAlloc_v2 says CUDA_SUCCESS, the program's pointer is still NULL, and the *next* call fails.
   conform: transparent/cuMemAlloc_v2: out-value dptr is not written */
#include <dlfcn.h>

#include "gdbcuda_api.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUdeviceptr block = 0;
    __typeof__(&cuMemAlloc_v2) real = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    (void)dptr;
    return real(&block, bytesize);
}
