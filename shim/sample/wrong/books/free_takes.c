/* WRONG: adds what is given back.
   Shows: the more a program frees, the less it may have.
   conform: books/cuMemAlloc_v2: cuMemFree_v2 gives memory back, and cuMemGetInfo_v2 says that more is used */
#define OWN_FREE
#include "sample/quota.h"

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    take(forget(dptr));
    return result;
}
