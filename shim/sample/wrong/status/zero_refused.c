/* WRONG: answers -1 for the address 0, which it takes for a block that it does not know.
   Shows: a program that frees nothing gets what is no CUresult.
   conform: status/cuMemFree_v2: 0 for dptr: it does not reach the driver */
#include "sample/next.h"

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    return dptr ? NEXT(cuMemFree_v2)(dptr) : (CUresult)-1;
}
