/* WRONG: counts imported memory as if it were new, though the exporter is counted already.
   Shows: a program that hands itself what it has is told that twice as much is used.
   conform: books/cuMemCreate: cuMemImportFromShareableHandle takes no memory, and cuMemGetInfo_v2 says that more is used */
#include "sample/physical_quota.h"

EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                               CUmemAllocationHandleType shHandleType)
{
    CUresult result = NEXT(cuMemImportFromShareableHandle)(handle, osHandle, shHandleType);
    struct stat file;
    if (result == CUDA_SUCCESS && fstat((int)(intptr_t)osHandle, &file) == 0) {
        take((size_t)file.st_size);
        remember(*handle, (size_t)file.st_size);
    }
    return result;
}
