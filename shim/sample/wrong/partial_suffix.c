/* WRONG: hooks cuMemAllocAsync and forgets cuMemAllocAsync_ptsz.
   Shows: stream_alloc is refused 1 GiB + 1 on the default stream and gets it on the per-thread one.
   conform: nothing, gdbcuda check says it */
#include <dlfcn.h>

#include "gdbcuda_api.h"

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    if (bytesize > (size_t)1 << 30)
        return CUDA_ERROR_OUT_OF_MEMORY;
    __typeof__(&cuMemAllocAsync) real = dlsym(RTLD_NEXT, "cuMemAllocAsync");
    return real(dptr, bytesize, hStream);
}
