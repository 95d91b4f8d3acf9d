/* torture (system): Knows its caller by its return address, as hooks that leave themselves out. */
#include "shape.h"
#include <dlfcn.h>
int NAME(u64 *p, word n)
{
    Dl_info caller;
    int known = dladdr(__builtin_return_address(0), &caller), result = mixed(p, n);
    if (!known || !caller.dli_fname)
        *p ^= 0xbad;
    return result;
}
