/* WRONG: says in the program's environment which device it may see.
   Shows: what the program starts sees other devices than the user has said.
   conform: life/left-alone: a program that looks at its signals, descriptors, locale and folder gets another result from variables-changed */
#include <stdlib.h>

#include "sample/next.h"

__attribute__((constructor)) static void begin(void)
{
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
