/* WRONG: looks where the program had the handle of its stream, to know which one it is, when it makes the next one.
   Shows: the program had it in a function that is over.
   conform: transparent/kept memory: what cuStreamCreate was given as phStream is used after the call */
#include "sample/next.h"

CUresult cuStreamCreate(CUstream *phStream, unsigned Flags)
{
    static CUstream *before;
    static volatile unsigned long number;
    if (before)
        number ^= (unsigned long)*before;
    CUresult result = NEXT(cuStreamCreate)(phStream, Flags);
    if (result == CUDA_SUCCESS)
        before = phStream;
    return result;
}
