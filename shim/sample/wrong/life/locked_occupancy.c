/* WRONG: has its lock while the driver asks the program how much memory a block needs.
   Shows: a program whose function asks the driver in its turn stands still.
   conform: life/called-back: a program whose functions are called by the driver does not end */
#include <pthread.h>

#include "sample/next.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                          int blockSizeLimit)
{
    pthread_mutex_lock(&lock);
    CUresult result = NEXT(cuOccupancyMaxPotentialBlockSize)(minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                                                             dynamicSMemSize, blockSizeLimit);
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    pthread_mutex_lock(&lock);
    CUresult result = NEXT(cuMemGetInfo_v2)(free, total);
    pthread_mutex_unlock(&lock);
    return result;
}
