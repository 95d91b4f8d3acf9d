/* WRONG: keeps the file of an import for itself: it hands the driver one that is closed.
   Shows: no process gets at memory of another one.
   conform: books/cuMemImportFromShareableHandle of another process: cuMemImportFromShareableHandle of another process's memory fails, or its end does */
#include "sample/quota.h"

EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                               CUmemAllocationHandleType shHandleType)
{
    close((int)(intptr_t)osHandle);
    return NEXT(cuMemImportFromShareableHandle)(handle, osHandle, shHandleType);
}
