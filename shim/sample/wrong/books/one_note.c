/* WRONG: notes the block that it is about in one place for all threads, and takes the note away.
   Shows: a thread whose call another one's comes into ends with SIGSEGV.
   conform: books/cuMemAlloc_v2 by 2 threads: a program ends with SIGSEGV whose thread calls cuMemAlloc_v2 in the midst of a call */
#define OWN_ALLOC
#include "sample/quota.h"

static struct note {
    size_t bytes;
} *note;

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!claim(bytesize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    note = calloc(1, sizeof *note);
    note->bytes = bytesize;
    CUresult result = NEXT(cuMemAlloc_v2)(dptr, bytesize);
    counted(result, result ? 0 : *dptr, note->bytes);
    free(note);
    note = NULL;
    return result;
}
