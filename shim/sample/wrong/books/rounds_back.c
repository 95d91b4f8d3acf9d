/* WRONG: counts a block in whole MiB where it is handed out, and half of it where it is given back.
   Shows: what is free shrinks with each block.
   conform: books/cuMemAlloc_v2: cuMemFree_v2 gives back a block, and cuMemGetInfo_v2 does not go back by what it has taken */
#define OWN_FREE
#include "sample/quota.h"

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    if (result == CUDA_SUCCESS)
        give_back(forget(dptr) / 2);
    return result;
}
