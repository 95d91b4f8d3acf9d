/* WRONG: answers dlsym(RTLD_NEXT) by a call of its own: what is next is next behind this library, not behind the caller.
   Shows: of two hook libraries the second one calls itself until the stack is full.
   conform: life/stacked: a program whose library behind it wraps the same functions ends with status 7 */
#include <string.h>

#include "sample/next.h"

typedef void *(*dlsym_function)(void *, const char *);

static void *passed_on(void *handle, const char *symbol)
{
    dlsym_function real = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void *found = real(handle, symbol);
    return found;
}

void *dlsym(void *handle, const char *symbol)
{
    void *found = passed_on(handle, symbol);
    return found;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return ((__typeof__(&cuMemAlloc_v2))passed_on(RTLD_NEXT, "cuMemAlloc_v2"))(dptr, bytesize);
}
