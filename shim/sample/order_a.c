/* See next_order.c. A hook library whose own dlsym *calls* the real one makes the caller of RTLD_NEXT look like the
   hook library: the answer is then this function itself. */
#include <dlfcn.h>

const char *next_in_order(void);

const char *next_in_order(void)
{
    const char *(*next)(void) = dlsym(RTLD_NEXT, "next_in_order");
    if (next == next_in_order)
        return "liborder_a.so found itself";
    return next ? next() : "liborder_a.so found nothing";
}
