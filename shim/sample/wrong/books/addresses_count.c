/* WRONG: counts reserved addresses, behind which there is no memory.
   Shows: an allocator that grows in one large room, as PyTorch's does, is refused the room.
   conform: books/cuMemAddressReserve: cuMemAddressReserve refuses addresses, which take no memory */
#include "sample/quota.h"

EXPORT CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                    unsigned long long flags)
{
    if (!claim(size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAddressReserve)(ptr, size, alignment, addr, flags);
    return counted(result, result ? 0 : *ptr, size);
}

EXPORT CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    size_t bytes = forget(ptr);
    return released(NEXT(cuMemAddressFree)(ptr, size), ptr, bytes);
}
