/* WRONG: counts a buffer of external memory, which another API has allocated, as if the driver had.
   Shows: a program that draws what it has computed is told that twice as much is used.
   conform: books/cuExternalMemoryGetMappedBuffer of another process: cuExternalMemoryGetMappedBuffer takes no memory, and cuMemGetInfo_v2 says that more is used */
#include "sample/quota.h"

EXPORT CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *devPtr, CUexternalMemory extMem,
                                                const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
    CUresult result = NEXT(cuExternalMemoryGetMappedBuffer)(devPtr, extMem, bufferDesc);
    if (result == CUDA_SUCCESS) {
        take(bufferDesc->size);
        remember(*devPtr, bufferDesc->size);
    }
    return result;
}
