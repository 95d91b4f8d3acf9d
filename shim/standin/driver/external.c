/* Memory of another API, or of another allocator: a file that is mapped. */
#include "driver.h"

#include <sys/stat.h>
#include <unistd.h>

struct CUextMemory_st {
    struct handle handle;
    int file;
};

static void destroy(void *self)
{
    close(((CUexternalMemory)self)->file);
}

/* The file is the driver's from then on. */
DRIVER(cuImportExternalMemory)(CUexternalMemory *extMem_out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
    struct stat status;

    INVALID_IF(!extMem_out || !memHandleDesc || !memHandleDesc->size);
    RETURN_IF(memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, CUDA_ERROR_NOT_SUPPORTED);
    INVALID_IF(fstat(memHandleDesc->handle.fd, &status) || (size_t)status.st_size < memHandleDesc->size);
    CUexternalMemory made = handle_new(HANDLE_EXTERNAL, sizeof *made, context_current(), destroy);
    RETURN_IF(!made, CUDA_ERROR_OUT_OF_MEMORY);
    made->file = memHandleDesc->handle.fd;
    *extMem_out = made;
    return CUDA_SUCCESS;
}

DRIVER(cuExternalMemoryGetMappedBuffer)(CUdeviceptr *devPtr, CUexternalMemory extMem,
                                        const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
    INVALID_IF(!devPtr || !bufferDesc || bufferDesc->flags);
    RETURN_IF(!handle_get(extMem, HANDLE_EXTERNAL), CUDA_ERROR_INVALID_HANDLE);
    return shared_map(extMem->file, bufferDesc->offset, bufferDesc->size, MEMORY_IMPORTED, devPtr);
}

DRIVER(cuDestroyExternalMemory)(CUexternalMemory extMem)
{
    return handle_close(extMem, HANDLE_EXTERNAL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
