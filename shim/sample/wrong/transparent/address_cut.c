/* WRONG: keeps an address in an unsigned int on the way.
   Shows: copies land at an address whose upper half is missing.
   conform: transparent/cuMemcpyHtoDAsync_v2: argument dstDevice is changed */
#include "sample/next.h"

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    return NEXT(cuMemcpyHtoDAsync_v2)((unsigned)dst, src, bytes, stream);
}
