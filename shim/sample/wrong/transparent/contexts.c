/* WRONG: needs the context for its own work, and does not put back what it has changed.
   Shows: the program's next calls are made in another context, or in none.
   conform: transparent/cuMemAlloc_v2: the thread's stack of contexts is not as before
   conform: status/cuMemFree_v2: a call that fails: the thread's stack of contexts is not as before */
#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    NEXT(cuCtxSetCurrent)(NULL);
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUcontext context = NULL;
    NEXT(cuCtxGetCurrent)(&context);
    NEXT(cuCtxPushCurrent_v2)(context);
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    if (result == CUDA_SUCCESS)
        NEXT(cuCtxPopCurrent_v2)(&context);
    return result;
}
