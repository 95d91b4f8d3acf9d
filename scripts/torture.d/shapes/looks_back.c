/* torture (system): Knows its caller by the unwinder, as a profiler or an allocator with sites does. */
#include "shape.h"
#include <execinfo.h>

/* The first walk loads the unwinder: the child of a fork meanwhile finds the loader half-way, and dies of SIGSEGV. */
__attribute__((constructor)) static void LOCAL(get_ready)(void)
{
    void *here[1];
    backtrace(here, 1);
}

int NAME(u64 *p, word n)
{
    void *stack[3];
    int depth = backtrace(stack, 3);
    int result = mixed(p, n);
    if (depth < 2 || stack[1] != __builtin_extract_return_addr(__builtin_return_address(0)))
        *p ^= 0xbad;
    return result;
}
