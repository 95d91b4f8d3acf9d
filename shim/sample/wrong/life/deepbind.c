/* WRONG: where RTLD_NEXT finds nothing it takes what the loader has bound the name to, which is to be libcuda's.
   Shows: opened with RTLD_DEEPBIND the name leads to the library itself, until the stack is full.
   conform: life/dlopen-deepbind: a program that opens it with dlopen (deepbind) ends with SIGSEGV */
#include <dlfcn.h>

#include "gdbcuda_api.h"

static __typeof__(&cuMemAlloc_v2) volatile by_name = cuMemAlloc_v2;

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    __typeof__(&cuMemAlloc_v2) real = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    if (!real)
        real = by_name;
    CUresult result = real(dptr, bytesize);
    return result;
}
