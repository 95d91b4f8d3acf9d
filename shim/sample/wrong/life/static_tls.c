/* WRONG: has so much memory of each thread, of the model that only a library of the program's start may have.
   Shows: dlopen of it fails: cannot allocate memory in static TLS block.
   conform: life/dlopen-lazy: a program that opens it with dlopen (lazy) ends with status 3 */
#include "sample/next.h"

static __thread char notes[1 << 14] __attribute__((tls_model("initial-exec")));

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    char *volatile mine = notes;
    mine[bytesize % sizeof notes]++;
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
