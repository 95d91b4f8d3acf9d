/* WRONG: of an unmapped range the mapping at its start alone is taken for gone.
   Shows: a segment that has grown piece by piece, as PyTorch's expandable ones, is used for good when it is given back.
   conform: books/cuMemCreate: all is given back, and cuMemGetInfo_v2 does not return to the start */
#include "sample/quota.h"

enum { MOST = 256 };
static struct {
    uint64_t handle;
    size_t bytes;
    int holders; /* the handle, and each mapping */
} memory[MOST];
static struct {
    CUdeviceptr start;
    int memory;
} mappings[MOST];

static int of_handle(uint64_t handle)
{
    for (int i = 0; i < MOST; i++)
        if (memory[i].holders && memory[i].handle == handle)
            return i;
    return -1;
}

static int new_memory(uint64_t handle, size_t bytes)
{
    int i = 0;
    while (i < MOST - 1 && memory[i].holders)
        i++;
    memory[i].handle = handle;
    memory[i].bytes = bytes;
    return i;
}

static void hold(int number, int by)
{
    if (number >= 0 && (memory[number].holders += by) == 0)
        give_back(memory[number].bytes);
}

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                            unsigned long long flags)
{
    if (!claim(size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemCreate)(handle, size, prop, flags);
    lock_blocks();
    if (result == CUDA_SUCCESS)
        hold(new_memory(*handle, size), 1);
    unlock_blocks();
    if (result != CUDA_SUCCESS)
        give_back(size);
    return result;
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult result = NEXT(cuMemRelease)(handle);
    if (result == CUDA_SUCCESS)
        hold(of_handle(handle), -1);
    return result;
}

EXPORT CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                         unsigned long long flags)
{
    CUresult result = NEXT(cuMemMap)(ptr, size, offset, handle, flags);
    int number = result == CUDA_SUCCESS ? of_handle(handle) : -1;
    for (int i = 0; i < MOST && number >= 0; i++)
        if (!mappings[i].start) {
            mappings[i].start = ptr;
            mappings[i].memory = number;
            hold(number, 1);
            break;
        }
    return result;
}

EXPORT CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult result = NEXT(cuMemUnmap)(ptr, size);
    for (int i = 0; i < MOST && result == CUDA_SUCCESS; i++)
        if (mappings[i].start == ptr) {
            mappings[i].start = 0;
            hold(mappings[i].memory, -1);
        }
    return result;
}
