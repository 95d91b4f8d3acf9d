/* WRONG: counts what was asked for of each row, and the driver pads rows to its pitch.
   Shows: images with narrow rows have twice as much as QUOTA, or more.
   conform: books/cuMemAllocPitch_v2: cuMemAllocPitch_v2 grants more than the limit */
#include "sample/quota.h"

EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                                   unsigned int ElementSizeBytes)
{
    size_t bytes = WidthInBytes * Height;
    if (!claim(bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAllocPitch_v2)(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
    return counted(result, result ? 0 : *dptr, bytes);
}
