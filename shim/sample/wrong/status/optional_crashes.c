/* WRONG: reads an out-value that a program need not ask for.
   Shows: a program that wants the base address alone crashes.
   conform: status/cuMemGetAddressRange_v2: NULL for psize: it ends with SIGSEGV in cuMemGetAddressRange_v2 of optional_crashes.so */
#include "sample/next.h"

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr dptr)
{
    CUresult result = NEXT(cuMemGetAddressRange_v2)(base, size, dptr);
    volatile size_t *there = size;
    return result || *there ? result : CUDA_SUCCESS;
}
