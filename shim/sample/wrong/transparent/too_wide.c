/* WRONG: writes a word more than there is room for.
   Shows: a variable of the program beside the result becomes 0.
   conform: transparent/cuMemGetInfo_v2: memory beyond its out-parameters is written */
#include "sample/next.h"

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    size_t *behind = total + 1;
    *behind = 0;
    return result;
}
