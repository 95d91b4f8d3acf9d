/* WRONG: opens each library with flags of its own choice.
   Shows: a program that asks whether a library is there already (RTLD_NOLOAD) gets it loaded.
   conform: life/opens-own: a program that opens libraries of its own gets another result from opened-if-loaded */
#include "sample/next.h"

/* As a jump: for the loader the caller is the program still. */
__asm__(".globl dlopen\n"
        ".type dlopen, @function\n"
        "dlopen:\n"
        "    push %rdi\n"
        "    call next_dlopen\n"
        "    pop %rdi\n"
        "    mov $0x102, %esi\n" /* RTLD_NOW | RTLD_GLOBAL */
        "    jmp *%rax\n"
        ".size dlopen, .-dlopen");

__attribute__((used, visibility("hidden"))) void *next_dlopen(void)
{
    return dlsym(RTLD_NEXT, "dlopen");
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return NEXT(cuMemAlloc_v2)(dptr, bytesize);
}
