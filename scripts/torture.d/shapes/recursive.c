/* torture: Each round is a call deeper, by an alias that nobody can interpose. */
#include "shape.h"
__attribute__((noinline)) static int LOCAL(deeper)(u64 *p, word n)
{
    *p = *p * 31 + n;
    int result = n & 7 ? LOCAL(deeper)(p, n - 1) : RESULT_OF(n);
    __asm__ volatile("" ::: "memory");
    return result;
}
int NAME(u64 *p, word n)
{
    return LOCAL(deeper)(p, n);
}
