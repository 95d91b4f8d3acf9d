/* WRONG: reads its table when it is asked how much is free, and makes the table with the first block.
   Shows: a program that asks before it allocates crashes.
   conform: books/cuMemAlloc_v2: a program ends with SIGSEGV before its first allocation */
#define OWN_INFO
#include "sample/quota.h"

static size_t *volatile table;

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    *free -= table[0];
    return result;
}
