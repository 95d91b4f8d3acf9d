/* WRONG: binds the thread that calls to a processor, and gives it a name.
   Shows: all threads of the program share one processor from then on.
   conform: life/left-alone: a program that looks at its signals, descriptors, locale and folder gets another result from thread-name */
#include <sched.h>
#include <sys/prctl.h>

#include "sample/next.h"

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    prctl(PR_SET_NAME, "hook");
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
