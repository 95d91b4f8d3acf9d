/* torture: push rbp; mov rsp, rbp; arguments on the stack below it, in the red zone. */
#include "shape.h"
        .p2align 4
BEGIN
        PUSH(%rbp)
        .cfi_rel_offset rbp, 0
        mov     %rsp, %rbp
        .cfi_def_cfa_register rbp
        mov     %rdi, -8(%rbp)
        mov     %rsi, -16(%rbp)
0:      mov     -8(%rbp), %rdx
        mov     (%rdx), %rax
        imul    $31, %rax, %rax
        add     -16(%rbp), %rax
        mov     %rax, (%rdx)
        testb   $7, -16(%rbp)
        je      1f
        decq    -16(%rbp)
        jmp     0b
1:      mov     -16(%rbp), %rsi
        pop     %rbp
        .cfi_def_cfa rsp, 8
        .cfi_restore rbp
        RESULT
        ret
END
