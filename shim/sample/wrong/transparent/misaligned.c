/* WRONG: an entry in assembly that calls on with a stack that is not aligned.
   Shows: it works until the driver's code has an instruction that wants 16 bytes aligned.
   conform: transparent/cuMemAlloc_v2: it ends with SIGSEGV in libcuda.so.1, which was called with a stack that is not aligned
   conform: status/cuMemAlloc_v2: a call that fails: it ends with SIGSEGV in libcuda.so.1, which was called with a stack that is not aligned
   conform: status/cuMemAlloc_v2: a large size: it ends with SIGSEGV in libcuda.so.1, which was called with a stack that is not aligned
   conform: status/cuMemAlloc_v2: NULL for dptr: it ends with SIGSEGV in libcuda.so.1, which was called with a stack that is not aligned */
#include "sample/next.h"

__attribute__((used, visibility("hidden"))) void *next_alloc(void)
{
    return next_function("cuMemAlloc_v2");
}

#if defined __x86_64__
__asm__(".globl cuMemAlloc_v2\n"
        ".type cuMemAlloc_v2, @function\n"
        "cuMemAlloc_v2:\n"
        "    push %rdi\n"
        "    push %rsi\n"
        "    sub $8, %rsp\n"
        "    call next_alloc\n"
        "    add $8, %rsp\n"
        "    pop %rsi\n"
        "    pop %rdi\n"
        "    sub $16, %rsp\n" /* 8 would be right */
        "    call *%rax\n"
        "    add $16, %rsp\n"
        "    ret\n"
        ".size cuMemAlloc_v2, .-cuMemAlloc_v2");
#endif
