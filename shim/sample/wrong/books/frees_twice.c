/* WRONG: gives back to the limit what the driver was asked to free, whether it was there or not.
   Shows: a program that frees a block twice may have more than QUOTA afterwards.
   conform: books/cuMemAlloc_v2: a second cuMemFree_v2 of a block fails, and changes how much cuMemGetInfo_v2 says is used */
#define OWN_ALLOC
#define OWN_FREE
#include "sample/quota.h"

static struct {
    CUdeviceptr address;
    size_t bytes;
} last;

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    counted(result, result ? 0 : *dptr, bytesize);
    if (result == CUDA_SUCCESS) {
        last.address = *dptr;
        last.bytes = bytesize;
    }
    return result;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    size_t bytes = forget(dptr);
    if (!bytes && dptr && dptr == last.address)
        bytes = last.bytes;
    give_back(bytes);
    return NEXT(cuMemFree_v2)(dptr);
}
