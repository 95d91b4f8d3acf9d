/* WRONG: says that it is ready before it is.
   Shows: a program whose threads call the driver at once, at its start, sometimes ends with SIGSEGV.
   conform: life/first-calls: a program whose threads make its first calls at the same instant ends with SIGSEGV */
#include "sample/next.h"

static __typeof__(&cuMemAlloc_v2) alloc;
static __typeof__(&cuMemFree_v2) release;
static int ready;

static void begin(void)
{
    if (__atomic_exchange_n(&ready, 1, __ATOMIC_SEQ_CST))
        return;
    alloc = NEXT(cuMemAlloc_v2);
    release = NEXT(cuMemFree_v2);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    begin();
    return alloc(dptr, bytesize);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    begin();
    return release(dptr);
}
