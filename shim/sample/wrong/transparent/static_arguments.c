/* WRONG: has the arguments of a copy in static memory on their way to the driver.
   Shows: of two threads that copy at the same instant both copy what one of them has asked for.
   conform: transparent/cuMemcpyDtoD_v2: while another thread makes the same call: argument dstDevice is changed
   conform: transparent/cuMemcpyDtoD_v2: while another thread makes the same call: argument srcDevice is changed
   conform: transparent/cuMemcpyDtoD_v2: while another thread makes the same call: argument ByteCount is changed */
#include "sample/next.h"

static struct {
    CUdeviceptr to, from;
    size_t bytes;
} volatile asked;

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    asked.to = dstDevice;
    asked.from = srcDevice;
    asked.bytes = ByteCount;
    return NEXT(cuMemcpyDtoD_v2)(asked.to, asked.from, asked.bytes);
}
