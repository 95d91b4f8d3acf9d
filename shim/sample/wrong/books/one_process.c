/* WRONG: serves one process at a time.
   Shows: a second process with the same QUOTA_REGION gets nothing.
   conform: books/processes: a program ends with status 3 whose processes share the limit */
#include "sample/quota.h"

EXPORT CUresult cuInit(unsigned int Flags)
{
    static int file = -1;
    const char *path = getenv("QUOTA_REGION");
    if (file < 0)
        file = path ? open(path, O_RDWR) : -1;
    if (file >= 0 && lockf(file, F_TLOCK, 0))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return NEXT(cuInit)(Flags);
}
