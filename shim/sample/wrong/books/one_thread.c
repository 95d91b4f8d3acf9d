/* WRONG: takes it for a mistake when two threads are in it.
   Shows: a program with threads is aborted.
   conform: books/cuMemAlloc_v2 by 8 threads: a program ends with SIGABRT whose 8 threads call cuMemAlloc_v2 */
#define OWN_ALLOC
#include "sample/quota.h"

static int inside;

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) > 1)
        abort();
    CUresult result = claim(bytesize) ? NEXT(cuMemAlloc_v2)(dptr, bytesize) : CUDA_ERROR_OUT_OF_MEMORY;
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    return result;
}
