/* What may be called on any device, and has nothing to do without a profiler. */
#include "driver.h"

DRIVER(cuProfilerStart)(void)
{
    return CUDA_SUCCESS;
}

DRIVER(cuProfilerStop)(void)
{
    return CUDA_SUCCESS;
}
