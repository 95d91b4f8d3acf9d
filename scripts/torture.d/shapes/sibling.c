/* torture: Calls another hooked function on the way, by name. */
#include "shape.h"
int LOCAL(partner)(u64 *p, word n, word a, word b, word c, word d, word e, word f, double g, double h, double i,
                   double j, double k, double l, double m, double o) __asm__(TEXT(PARTNER));
int NAME(u64 *p, word n)
{
    u64 other = n, want = n;
    word size = n | SIBLING;
    int result = LOCAL(partner)(&other, size, size ^ 1, size ^ 2, size ^ 3, size ^ 4, size ^ 5, size ^ 6, 0.5, 1.5, 2.5,
                                3.5, 4.5, 5.5, 6.5, 7.5);
    int wanted = mixed(&want, size), mine = mixed(p, n);
    if (other != want || result != wanted)
        *p ^= 0xbad;
    return mine;
}
