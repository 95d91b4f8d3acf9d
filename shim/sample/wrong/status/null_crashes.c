/* WRONG: reads an out-value without looking whether there is one.
   Shows: a call with NULL, which the driver takes, crashes.
   conform: status/cuMemGetInfo_v2: NULL for total: it ends with SIGSEGV in cuMemGetInfo_v2 of null_crashes.so */
#include "sample/next.h"

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    volatile size_t *all = total;
    *all += 0;
    return result;
}
