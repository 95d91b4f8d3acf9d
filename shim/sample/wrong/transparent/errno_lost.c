/* WRONG: makes system calls behind the driver's, and forgets errno.
   Shows: a program that looks at errno later finds an error that it has not made.
   conform: transparent/cuMemAlloc_v2: errno is changed */
#include <unistd.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    close(-1);
    return result;
}
