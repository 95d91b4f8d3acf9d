/* Words of memory that streams write and wait for. */
#include "driver.h"

static CUresult check_word(CUstream stream, CUdeviceptr address, size_t bytes)
{
    TRY(stream_check(stream));
    INVALID_IF(address % bytes || !allocation_covers(address, bytes));
    return CUDA_SUCCESS;
}

DRIVER(cuStreamWriteValue32_v2)(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    INVALID_IF(flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
    TRY(check_word(stream, addr, sizeof value));
    __atomic_store_n((cuuint32_t *)addr, value, __ATOMIC_SEQ_CST);
    return CUDA_SUCCESS;
}

DRIVER(cuStreamWriteValue64_v2)(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    INVALID_IF(flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
    TRY(check_word(stream, addr, sizeof value));
    __atomic_store_n((cuuint64_t *)addr, value, __ATOMIC_SEQ_CST);
    return CUDA_SUCCESS;
}
