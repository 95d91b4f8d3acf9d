/* WRONG: sets errno where the driver has refused.
   Shows: a program that looks at errno after a call that failed is told something else.
   conform: status/cuMemFree_v2: a call that fails: errno is changed */
#include <errno.h>

#include "sample/next.h"

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    if (result != CUDA_SUCCESS)
        errno = EINVAL;
    return result;
}
