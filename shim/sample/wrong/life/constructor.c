/* WRONG: finds the driver's functions in its constructor.
   Shows: a library whose constructor runs before, and uses the driver, jumps to address 0.
   conform: life/constructor: a program whose library makes calls in a constructor ends with SIGSEGV */
#include "sample/next.h"

static __typeof__(&cuMemAlloc_v2) real;

__attribute__((constructor)) static void begin(void)
{
    real = NEXT(cuMemAlloc_v2);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return real(dptr, bytesize);
}
