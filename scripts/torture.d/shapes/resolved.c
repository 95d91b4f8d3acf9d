/* torture (indirect): An indirect function: a resolver chooses between two bodies while the library is loaded. */
#include "shape.h"
__attribute__((noinline)) static int LOCAL(one)(u64 *p, word n)
{
    return mixed(p, n);
}
typedef int (*LOCAL(body))(u64 *, word);
__attribute__((no_sanitize("address", "undefined", "thread"), used)) static LOCAL(body) LOCAL(choose)(void)
{
    return LOCAL(one);
}
int NAME(u64 *p, word n) __attribute__((ifunc(TEXT(LOCAL(choose)))));
