/* WRONG: looks whether there is room, and counts, with no lock at all; nothing else is between the two.
   Shows: two threads that ask at the same instant are sometimes granted more than QUOTA together.
   conform: books/cuMemAlloc_v2 by 2 threads: 2 threads that call cuMemAlloc_v2 at the same instant are granted more than the limit */
#include "sample/next.h"
#include <stdlib.h>

static size_t used, limit;
static struct {
    CUdeviceptr address;
    size_t bytes;
} blocks[1024];

__attribute__((constructor)) static void begin(void)
{
    const char *quota = getenv("QUOTA");
    limit = quota ? strtoull(quota, NULL, 10) : (size_t)-1;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (bytesize > limit - used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    used += bytesize;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    for (int i = 0; result == CUDA_SUCCESS && i < 1024; i++)
        if (!blocks[i].address) {
            blocks[i].address = *dptr;
            blocks[i].bytes = bytesize;
            return result;
        }
    used -= bytesize;
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemFree_v2)(dptr);
    for (int i = 0; result == CUDA_SUCCESS && i < 1024; i++)
        if (blocks[i].address == dptr) {
            used -= blocks[i].bytes;
            blocks[i].address = 0;
            break;
        }
    return result;
}
