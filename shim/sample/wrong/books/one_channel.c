/* WRONG: counts a byte for each element of an array, whatever its format and its channels are.
   Shows: textures of four floats have sixteen times as much as QUOTA.
   conform: books/cuArrayCreate_v2: cuArrayCreate_v2 grants more than the limit */
#include "sample/quota.h"

EXPORT CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    size_t bytes = pAllocateArray ? pAllocateArray->Width * pAllocateArray->Height : 0;
    if (!claim(bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = NEXT(cuArrayCreate_v2)(pHandle, pAllocateArray);
    return counted(result, result ? 0 : (uintptr_t)*pHandle, bytes);
}

EXPORT CUresult cuArrayDestroy(CUarray hArray)
{
    size_t bytes = forget((uintptr_t)hArray);
    CUresult result = NEXT(cuArrayDestroy)(hArray);
    return released(result, (uintptr_t)hArray, bytes);
}
