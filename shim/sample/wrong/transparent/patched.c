/* WRONG: writes a jump over the driver's function, and never comes back to it.
   Shows: a program is given no memory, and is told that it was. The library has no function of the API.
   conform: transparent/cuMemAlloc_v2: it does not reach the driver */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sample/next.h"

static CUresult answer(CUdeviceptr *dptr, size_t bytesize)
{
    (void)bytesize;
    if (!dptr)
        return CUDA_ERROR_INVALID_VALUE;
    *dptr = 0x10000;
    return CUDA_SUCCESS;
}

__attribute__((constructor)) static void patch(void)
{
#if defined __x86_64__
    unsigned char jump[14] = {0xff, 0x25}, *entry = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *begin = (void *)((unsigned long)entry & ~(page - 1)), *to = (void *)answer;
    if (!entry || mprotect(begin, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC))
        return;
    memcpy(jump + 6, &to, sizeof to);
    memcpy(entry, jump, sizeof jump);
    mprotect(begin, 2 * page, PROT_READ | PROT_EXEC);
#else
    (void)answer;
#endif
}
