/* WRONG: blocks all signals while it has its lock, and returns early where the driver refuses the call.
   Shows: after a query that is not ready the program hears of no signal any more, Ctrl-C neither.
   conform: status/cuStreamQuery: a call that fails: signal mask is not as the caller had it */
#include <pthread.h>
#include <signal.h>

#include "sample/next.h"

CUresult cuStreamQuery(CUstream hStream)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    CUresult result = NEXT(cuStreamQuery)(hStream);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}
