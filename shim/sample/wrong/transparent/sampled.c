/* WRONG: looks at one call in a hundred, and forgets to make it.
   Shows: in a long run some copies are missing.
   conform: transparent/cuMemcpyHtoD_v2: in some of many calls the result is changed */
#include "sample/next.h"

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    static unsigned calls;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) % 100 == 0)
        return CUDA_SUCCESS;
    return NEXT(cuMemcpyHtoD_v2)(dstDevice, srcHost, ByteCount);
}
