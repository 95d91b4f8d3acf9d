/* dlsym(RTLD_DEFAULT, ...) and dlsym(RTLD_NEXT, ...) have to come from the object that calls: libc, or a hook library that
 * asks libc by a jump, knows it by the return address. So that becomes the address of a `ret` in that object, which leads
 * here. Of a name that is none of the API's, and where there is no `ret`, they are passed on as they are. */
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
    mov $number, %ecx
    lea 1(%rdi), %rax
    cmp $1, %rax
    jbe asked_in_the_callers_name
    mov (%rsp), %r8
    jmp gdbcuda_asked
    .balign DLSYM_SIZE, 0xcc
    .set number, number + 1
    .endr
    .cfi_endproc
    .size gdbcuda_dlsyms, . - gdbcuda_dlsyms

    .macro save register
    push %\register
    .cfi_adjust_cfa_offset 8
    .endm
    .macro restore register
    pop %\register
    .cfi_adjust_cfa_offset -8
    .endm

    .type asked_in_the_callers_name, @function
asked_in_the_callers_name:
    .cfi_startproc
    mov (%rsp), %rax
    save rdi
    save rsi
    save rdx
    save rcx
    save rcx /* for a multiple of 16 */
    mov %rax, %rdi
    call gdbcuda_way_back
    restore rcx
    restore rcx
    restore rdx
    restore rsi
    restore rdi
    lea gdbcuda_dlsym_originals(%rip), %r8
    mov (%r8, %rcx, 8), %r8
    test %rax, %rax
    jz 1f
    save rsi
    save rsi /* for a multiple of 16 */
    lea 2f(%rip), %rcx
    push %rcx
    push %rax
1:  jmp *%r8
2:  mov %rax, %rsi
    restore rdi
    mov 8(%rsp), %rdx
    call gdbcuda_answered
    restore rcx
    ret
    .cfi_endproc
    .size asked_in_the_callers_name, . - asked_in_the_callers_name

    .section .note.GNU-stack, "", @progbits
