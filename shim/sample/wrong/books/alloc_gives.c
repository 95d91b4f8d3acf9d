/* WRONG: subtracts what is handed out, from a start that has some.
   Shows: the more a program has, the more it is said to be free.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 hands out memory, and cuMemGetInfo_v2 says that less is used */
#define OWN_INFO
#include "sample/quota.h"

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    if (result == CUDA_SUCCESS) {
        *total = limit();
        *free = limit() / 2 + used();
    }
    return result;
}
