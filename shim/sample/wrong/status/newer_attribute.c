/* WRONG: writes the name of an attribute into a log, from a table that ends with the attributes of its day.
   Shows: a program that was built for a newer CUDA.
   conform: status/cuDeviceGetAttribute: an odd value: it ends with SIGSEGV in cuDeviceGetAttribute of newer_attribute.so */
#include "sample/next.h"

static const char *const names[] = {"none", "max threads per block", "max block dim x", "max block dim y"};
enum { FAMILIES = 128 };
static const char *const *table[FAMILIES] = {names};

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    static volatile unsigned counts[256];
    unsigned at = (unsigned)attrib;
    const char *const *family = at < 200 ? names : table[at / 4];
    counts[(unsigned char)family[at % 4][0]]++;
    return NEXT(cuDeviceGetAttribute)(pi, attrib, dev);
}
