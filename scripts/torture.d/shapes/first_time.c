/* torture: Asks a variable of its own first, as hooks do that look the real function up once. */
#include "shape.h"
static int (*volatile LOCAL(real))(u64 *, word);
__attribute__((noinline)) static int LOCAL(mix)(u64 *p, word n)
{
    return mixed(p, n);
}
int NAME(u64 *p, word n)
{
    if (!LOCAL(real))
        LOCAL(real) = LOCAL(mix);
    return LOCAL(real)(p, n);
}
