/* WRONG: does not pass the second pointer on.
   Shows: the program reads what was in its variable before.
   conform: transparent/cuMemGetInfo_v2: argument total is NULL for the driver
   conform: transparent/cuMemGetInfo_v2: out-value total is not written */
#include "sample/next.h"

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    (void)total;
    return NEXT(cuMemGetInfo_v2)(free, NULL);
}
