/* torture (loops): Labels as values: the table leads back to the top. */
#include "shape.h"
int NAME(u64 *p, word n)
{
    static const void *const ways[] = {&&over, &&top, &&again, &&top, &&again, &&top, &&again, &&top};
    goto top;
again:
    __asm__ volatile("" ::: "memory");
top:
    *p = *p * 31 + n;
    word low = n & 7;
    n -= low != 0;
    goto *ways[low];
over:
    return RESULT_OF(n);
}
