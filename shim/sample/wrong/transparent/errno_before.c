/* WRONG: looks for a file before the driver is asked, and leaves the errno of that.
   Shows: where the driver leaves errno alone, a program finds another one than it had.
   conform: transparent/cuMemAlloc_v2: errno is changed */
#include <fcntl.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    open("/nonexistent/limits", O_RDONLY | O_CLOEXEC);
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
