/* WRONG: opens for the program what the program wants to open.
   Shows: the loader looks in the folders of the caller, which is this library now: what lies beside the program, where its
   RUNPATH leads, is not found.
   conform: life/opens-own: a program that opens libraries of its own gets another result from opened-from-own-folder */
#include "sample/next.h"

void *dlopen(const char *path, int flags)
{
    static void *(*next)(const char *, int);
    if (!next)
        next = (__typeof__(next))dlsym(RTLD_NEXT, "dlopen");
    void *volatile library = next(path, flags);
    return library;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
