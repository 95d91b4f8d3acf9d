/* WRONG: does not say how much memory is free.
   Shows: a program that asks is told of an error.
   conform: life/preload: a program that it is preloaded into gets another result from cuMemGetInfo_v2 */
#include "sample/next.h"

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    (void)free, (void)total;
    return CUDA_ERROR_UNKNOWN;
}
