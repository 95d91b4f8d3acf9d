/* WRONG: writes the pitch that the driver takes by itself into the caller's struct.
   Shows: the program's next copy, of another width, with the same struct has the pitch of this one.
   conform: transparent/cuMemcpy2D_v2: what argument pCopy points to is changed
   conform: transparent/cuMemcpy2D_v2: what pCopy points to is written */
#include "sample/next.h"

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    CUDA_MEMCPY2D *copy = (CUDA_MEMCPY2D *)pCopy;
    if (copy && copy->dstPitch == 0)
        copy->dstPitch = copy->WidthInBytes;
    return NEXT(cuMemcpy2D_v2)(copy);
}
