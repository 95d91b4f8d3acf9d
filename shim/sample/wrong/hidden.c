/* WRONG: built with -fvisibility=hidden, and its functions lack __attribute__((visibility("default"))).
   Shows: nm finds cuMemAlloc_v2 in it, `nm -D` does not; gdb sets a breakpoint there that is never hit.
   conform: start: no API function that a program asks for leads into it */
#include <dlfcn.h>
#include <stdio.h>

#include "gdbcuda_api.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    fprintf(stderr, "hidden: cuMemAlloc_v2 of %zu bytes\n", bytesize);
    __typeof__(&cuMemAlloc_v2) real = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    return real(dptr, bytesize);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    fprintf(stderr, "hidden: cuMemFree_v2\n");
    __typeof__(&cuMemFree_v2) real = dlsym(RTLD_NEXT, "cuMemFree_v2");
    return real(dptr);
}
