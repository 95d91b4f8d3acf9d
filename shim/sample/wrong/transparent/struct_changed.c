/* WRONG: gives the driver a copy of the struct, with one member changed.
   Shows: a plane more is copied than the program has room for.
   conform: transparent/cuMemcpy3D_v2: what argument pCopy points to is changed */
#include "sample/next.h"

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    CUDA_MEMCPY3D own = *pCopy;
    own.Depth++;
    return NEXT(cuMemcpy3D_v2)(&own);
}
