/* torture (stack): Looks at all its arguments: registers, stack, vector registers. */
#include "shape.h"
int NAME(u64 *p, word n, word a, word b, word c, word d, word e, word f, double g, double h, double i, double j,
         double k, double l, double m, double o)
{
    word integers = (a ^ n ^ 1) | (b ^ n ^ 2) | (c ^ n ^ 3) | (d ^ n ^ 4) | (e ^ n ^ 5) | (f ^ n ^ 6);
    int doubles = g != 0.5 || h != 1.5 || i != 2.5 || j != 3.5 || k != 4.5 || l != 5.5 || m != 6.5 || o != 7.5;
    int result = mixed(p, n);
    if (integers || doubles)
        *p ^= 0xbad;
    return result;
}
