/* WRONG: ends the program where it does not like what it is asked.
   Shows: the program is gone, without a word.
   conform: transparent/cuMemAlloc_v2: it ends with the status 3 */
#include <stdlib.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    (void)dptr, (void)bytesize;
    exit(3);
}
