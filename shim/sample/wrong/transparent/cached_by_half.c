/* WRONG: keeps what the driver says of an attribute, and forgets of which device.
   Shows: a machine with two kinds of GPU.
   conform: transparent/cuDeviceGetAttribute: a call that differs in dev alone: it does not reach the driver */
#include "sample/next.h"

enum { MOST = 1 << 10 };

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    static struct { int is_known, value; } kept[MOST];
    unsigned at = (unsigned)attrib;
    if (pi && at < MOST && kept[at].is_known) {
        *pi = kept[at].value;
        return CUDA_SUCCESS;
    }
    CUresult result = NEXT(cuDeviceGetAttribute)(pi, attrib, dev);
    if (result == CUDA_SUCCESS && pi && at < MOST) {
        kept[at].value = *pi;
        kept[at].is_known = 1;
    }
    return result;
}
