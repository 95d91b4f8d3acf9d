/* WRONG: returns -1 for "refused", as C functions do; a CUresult has no such value.
   Shows: the program prints an error that no table knows, or takes it for a success when it looks for known ones.
   conform: status/cuMemAlloc_v2: a large size: it returns what is not in CUresult */
#include <dlfcn.h>

#include "gdbcuda_api.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (bytesize > (size_t)1 << 30)
        return (CUresult)-1;
    __typeof__(&cuMemAlloc_v2) real = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    return real(dptr, bytesize);
}
