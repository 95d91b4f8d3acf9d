/* torture (patchable): As the compiler makes it. */
#include "shape.h"
int NAME(u64 *p, word n)
{
    return mixed(p, n);
}
