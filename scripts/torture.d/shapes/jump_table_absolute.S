/* torture (loops): A table of addresses, one of them the function's second instruction. */
#include "shape.h"
        .p2align 4
BEGIN
        mov     (%rdi), %rax            /* 3 bytes */
0:      imul    $31, %rax, %rax
        add     %rsi, %rax
        mov     %rax, (%rdi)
        mov     %esi, %ecx
        and     $7, %ecx
        setne   %cl
        movzbl  %cl, %ecx
        sub     %rcx, %rsi
        lea     9f(%rip), %rdx
        jmp     *(%rdx,%rcx,8)
1:      RESULT
        ret
END
        .section .data.rel.ro, "aw"
        .p2align 3
9:      .quad   1b, 0b
