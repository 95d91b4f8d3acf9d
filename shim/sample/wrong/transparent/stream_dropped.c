/* WRONG: gives the default stream in the place of the program's.
   Shows: copies wait for others, and the program's stream does not wait for them.
   conform: transparent/cuMemcpyHtoDAsync_v2: argument hStream is changed */
#include "sample/next.h"

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    (void)stream;
    return NEXT(cuMemcpyHtoDAsync_v2)(dst, src, bytes, 0);
}
