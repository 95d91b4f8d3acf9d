/* WRONG: takes all of a pool for given back when it is trimmed, also what is in use.
   Shows: after empty_cache() a program may have more than QUOTA.
   conform: books/cuMemAllocAsync: cuMemPoolTrimTo takes no memory, and cuMemGetInfo_v2 says that more is used */
#include "sample/quota.h"

static size_t of_pools;

EXPORT CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAllocAsync)(dptr, bytesize, hStream);
    if (result == CUDA_SUCCESS)
        __atomic_fetch_add(&of_pools, bytesize, __ATOMIC_SEQ_CST);
    return counted(result, result ? 0 : *dptr, bytesize);
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    size_t bytes = forget(dptr);
    CUresult result = NEXT(cuMemFreeAsync)(dptr, hStream);
    if (result == CUDA_SUCCESS)
        __atomic_fetch_sub(&of_pools, bytes, __ATOMIC_SEQ_CST);
    return released(result, dptr, bytes);
}

EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    CUresult result = NEXT(cuMemPoolTrimTo)(pool, minBytesToKeep);
    if (result == CUDA_SUCCESS && minBytesToKeep == 0)
        give_back(__atomic_exchange_n(&of_pools, 0, __ATOMIC_SEQ_CST));
    return result;
}
