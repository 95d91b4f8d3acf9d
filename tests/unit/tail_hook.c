/* A hook library that jumps on to the driver, calls itself, and leaves a call by longjmp: what pairs of events must bear. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stddef.h>

typedef unsigned long long CUdeviceptr;
typedef int (*Alloc)(CUdeviceptr *, size_t);
typedef int (*Free)(CUdeviceptr);

static jmp_buf back;

int cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize) {
    static Alloc real;
    if (!real)
        real = (Alloc)dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    return real(dptr, bytesize); /* a jump, with -O2 */
}

__attribute__((optimize("O0"))) int cuMemFree_v2(CUdeviceptr dptr) {
    if (dptr & 0xff) /* 3 calls deep, none of them a jump */
        return cuMemFree_v2(dptr - 1);
    return ((Free)dlsym(RTLD_NEXT, "cuMemFree_v2"))(dptr);
}

int cuCtxSynchronize(void) {
    longjmp(back, 1);
}

int leave(void) {
    if (!setjmp(back))
        cuCtxSynchronize();
    return 0;
}
