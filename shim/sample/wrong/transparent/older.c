/* WRONG: calls the function of the same name without _v2, which has 32 bits for a size.
   Shows: a device with more than 4 GiB seems to be smaller.
   conform: transparent/cuMemGetInfo_v2: the driver gets cuMemGetInfo instead */
#include "sample/next.h"

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    unsigned int free_of_it = 0, all_of_it = 0;
    CUresult result = NEXT(cuMemGetInfo)(&free_of_it, &all_of_it);
    *free = free_of_it;
    *total = all_of_it;
    return result;
}
