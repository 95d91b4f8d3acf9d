/* WRONG: has another way for large copies, which forgets the stream.
   Shows: a large copy is in no order with what else is in its stream.
   conform: status/cuMemcpyHtoDAsync_v2: a large size: argument hStream is changed */
#include "sample/next.h"

enum { LARGE = 1 << 20 };

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return NEXT(cuMemcpyHtoDAsync_v2)(to, from, bytes, bytes < LARGE ? stream : NULL);
}
