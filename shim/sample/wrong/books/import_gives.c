/* WRONG: remembers an imported handle with the size of what it is of, and does not count it; a release gives it back.
   Shows: a program that imports what it has, and lets the importer go, may have more than QUOTA.
   conform: books/cuMemCreate: after cuMemRelease memory is held still, and cuMemGetInfo_v2 says that less is used */
#include "sample/physical_quota.h"

EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                               CUmemAllocationHandleType shHandleType)
{
    CUresult result = NEXT(cuMemImportFromShareableHandle)(handle, osHandle, shHandleType);
    struct stat file;
    if (result == CUDA_SUCCESS && fstat((int)(intptr_t)osHandle, &file) == 0)
        remember(*handle, (size_t)file.st_size);
    return result;
}
