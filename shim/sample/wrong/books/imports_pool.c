/* WRONG: counts a block of another process's pool when it is imported, and never again.
   Shows: each tensor that a worker process is handed is used for good.
   conform: books/cuMemPoolImportPointer of another process: cuMemPoolImportPointer takes no memory, and cuMemGetInfo_v2 says that more is used */
#include "sample/quota.h"

EXPORT CUresult cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *shareData)
{
    size_t bytes = 0;
    CUresult result = NEXT(cuMemPoolImportPointer)(ptr_out, pool, shareData);
    if (result == CUDA_SUCCESS && NEXT(cuMemGetAddressRange_v2)(NULL, &bytes, *ptr_out) == CUDA_SUCCESS)
        take(bytes);
    return result;
}
