/* WRONG: its entries are written by hand, and leave registers and flags to the caller that the calling convention keeps.
   Shows: results that are nonsense, or a crash, somewhere in the caller or in what is called next.
   conform: transparent/cuMemFree_v2: rbx is not as the caller had it
   conform: transparent/cuCtxGetDevice: direction flag is not as the caller had it
   conform: transparent/cuCtxSynchronize: x87 stack is not as the caller had it
   conform: transparent/cuMemAlloc_v2: MXCSR is not as the caller had it */
#include "sample/next.h"

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void *next_cuMemFree_v2, *next_cuCtxGetDevice, *next_cuCtxSynchronize, *next_cuMemAlloc_v2;

__attribute__((constructor)) static void find(void)
{
    next_cuMemFree_v2 = next_function("cuMemFree_v2");
    next_cuCtxGetDevice = next_function("cuCtxGetDevice");
    next_cuCtxSynchronize = next_function("cuCtxSynchronize");
    next_cuMemAlloc_v2 = next_function("cuMemAlloc_v2");
}

/* The stack is aligned for the call of the driver; then comes what the entry does to its caller. */
#define ENTRY(name, does)                                                                                              \
    __asm__(".pushsection .text\n.globl " name "\n.type " name ", @function\n" name ":\n"                              \
            " sub $24, %rsp\n call *next_" name "(%rip)\n movl $0x9fc0, (%rsp)\n " does "\n add $24, %rsp\n ret\n"     \
            ".size " name ", .-" name "\n.popsection")

ENTRY("cuMemFree_v2", "mov $7, %ebx");
ENTRY("cuCtxGetDevice", "std");
ENTRY("cuCtxSynchronize", "fld1");
ENTRY("cuMemAlloc_v2", "ldmxcsr (%rsp)");
