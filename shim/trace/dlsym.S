/* dlsym(RTLD_DEFAULT, ...) and dlsym(RTLD_NEXT, ...) have to come from the program's own object: they are passed on as
 * they are. */
#include "dlsym.h"

    .text
    .globl gdbcuda_dlsyms
    .hidden gdbcuda_dlsyms
    .type gdbcuda_dlsyms, @function
    .balign DLSYM_SIZE
gdbcuda_dlsyms:
    .cfi_startproc
    .set number, 0
    .rept MOST_DLSYMS
    lea 1(%rdi), %rax
    cmp $1, %rax
    jbe 1f
    mov $number, %edx
    mov (%rsp), %rcx
    jmp gdbcuda_asked
1:  jmp *gdbcuda_dlsym_originals + 8 * number(%rip)
    .balign DLSYM_SIZE, 0xcc
    .set number, number + 1
    .endr
    .cfi_endproc
    .size gdbcuda_dlsyms, . - gdbcuda_dlsyms

    .section .note.GNU-stack, "", @progbits
