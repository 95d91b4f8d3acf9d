/* WRONG: waits for the device after each fill, to measure it.
   Shows: while a stream is captured the driver refuses that, and the capture is lost.
   conform: life/captured: a program that captures a stream and launches the graph gets another result from cuMemcpyHtoDAsync_v2 */
#include "sample/next.h"

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    CUresult result = NEXT(cuMemsetD8Async)(dstDevice, uc, N, hStream);
    NEXT(cuCtxSynchronize)();
    return result;
}
