/* WRONG: knows one device, and asks for that one whatever the program asks for.
   Shows: on a machine with two devices, the second one seems to be the first.
   conform: transparent/nvmlDeviceGetHandleByIndex_v2: argument index is changed
   conform: transparent/cuDeviceGetName: argument dev is changed */
#include "sample/next.h"

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    (void)index;
    return NEXT(nvmlDeviceGetHandleByIndex_v2)(0, device);
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
    (void)dev;
    return NEXT(cuDeviceGetName)(name, len, 0);
}
