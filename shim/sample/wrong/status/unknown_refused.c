/* WRONG: knows some limits of a context, and says of each other one that all is well.
   Shows: the program believes that its limit of printf's buffer holds.
   conform: status/cuCtxSetLimit: an odd value: it succeeds, and the driver does not get it */
#include "sample/next.h"

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    if ((unsigned)limit > CU_LIMIT_MAX)
        return CUDA_SUCCESS;
    return NEXT(cuCtxSetLimit)(limit, value);
}
