/* WRONG: keeps the pointer to an array's description, to know its size when it is given back.
   Shows: a program that has the description on its stack: the books go wrong.
   conform: transparent/kept memory: what cuArrayCreate_v2 was given as pAllocateArray is used after the call */
#include "sample/next.h"

static const CUDA_ARRAY_DESCRIPTOR *kept;
static volatile unsigned long used;

CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    CUresult result = NEXT(cuArrayCreate_v2)(pHandle, pAllocateArray);
    if (result == CUDA_SUCCESS)
        kept = pAllocateArray;
    return result;
}

CUresult cuArrayDestroy(CUarray hArray)
{
    if (kept)
        used -= kept->Width * kept->Height;
    kept = NULL;
    return NEXT(cuArrayDestroy)(hArray);
}
