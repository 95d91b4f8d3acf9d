/* WRONG: refuses each 64th allocation, as if it were over the limit.
   Shows: a program that runs for an hour is told once that there is no memory, while it holds none.
   conform: books/cuMemAlloc_v2: cuMemAlloc_v2 refuses what it has granted before, and nothing is held */
#define OWN_ALLOC
#include "sample/quota.h"

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    static unsigned calls;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) % 64 == 0 || !claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    return counted(result, result ? 0 : *dptr, bytesize);
}
