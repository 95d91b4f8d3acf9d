/* torture (system): Begins with a call of the loader, for its thread-local variable. */
#include "shape.h"
static __thread volatile word LOCAL(made) __attribute__((tls_model("global-dynamic")));
int NAME(u64 *p, word n)
{
    LOCAL(made)++;
    return mixed(p, n) + (LOCAL(made) == 0);
}
