/* WRONG: takes the per-thread stream where the program has named none.
   Shows: the default stream does not wait for the copy.
   conform: status/cuMemcpyHtoDAsync_v2: NULL for hStream: argument hStream is changed */
#include "sample/next.h"

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    return NEXT(cuMemcpyHtoDAsync_v2)(dst, src, bytes, stream ? stream : (CUstream)2);
}
