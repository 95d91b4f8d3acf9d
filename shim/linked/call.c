/* The first call at each place. */
#include "gdbcuda_call.h"

void *gdbcuda_wrapped_v1(const char *name, void *original) __attribute__((weak)); /* in libgdbcuda-trace.so */

/* Another function at the same place is asked for again each time: several threads may be here. */
void *gdbcuda_call_found(struct gdbcuda_call *one, void *real)
{
    void *called = gdbcuda_wrapped_v1 && real ? gdbcuda_wrapped_v1(one->name, real) : real, *nothing = 0;
    if (__atomic_compare_exchange_n(&one->called, &nothing, called, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        __atomic_store_n(&one->known, real, __ATOMIC_RELEASE);
    return called;
}
