/* Pools of which other processes are given blocks. */
#include "driver.h"

#include <sys/mman.h>
#include <sys/stat.h>

DRIVER_INIT(cuMemPoolExportToShareableHandle)(void *handle_out, CUmemoryPool pool, CUmemAllocationHandleType handleType,
                                              unsigned long long flags)
{
    INVALID_IF(!handle_out || flags || !handle_get(pool, HANDLE_POOL));
    RETURN_IF(handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    INVALID_IF(!(pool->handle_types & handleType));
    int file = memfd_create("gdbcuda-standin-pool", MFD_CLOEXEC);
    RETURN_IF(file < 0, CUDA_ERROR_OUT_OF_MEMORY);
    *(int *)handle_out = file;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemPoolImportFromShareableHandle)(CUmemoryPool *pool_out, void *handle,
                                                CUmemAllocationHandleType handleType, unsigned long long flags)
{
    struct stat status;

    INVALID_IF(!pool_out || flags);
    RETURN_IF(handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    INVALID_IF(fstat((int)(intptr_t)handle, &status));
    *pool_out = pool_new(0);
    RETURN_IF(!*pool_out, CUDA_ERROR_OUT_OF_MEMORY);
    (*pool_out)->is_imported = true;
    return CUDA_SUCCESS;
}

DRIVER(cuMemPoolExportPointer)(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    const struct allocation *found = allocation_at(ptr);

    INVALID_IF(!shareData_out || !found || found->entry.start != ptr || !handle_get(found->pool, HANDLE_POOL));
    INVALID_IF(!found->pool->handle_types);
    return shared_export(found, shareData_out);
}

DRIVER(cuMemPoolImportPointer)(CUdeviceptr *ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *shareData)
{
    INVALID_IF(!ptr_out || !shareData || !handle_get(pool, HANDLE_POOL) || !pool->is_imported);
    return shared_open(shareData, MEMORY_IMPORTED, ptr_out);
}
