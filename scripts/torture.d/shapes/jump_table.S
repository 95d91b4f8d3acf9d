/* torture (loops): A table of distances, as compilers make it; one of its ways leads into the first bytes. */
#include "shape.h"
        .p2align 4
BEGIN
        PUSH(%rbp)
        .cfi_rel_offset rbp, 0
0:      mov     %rsi, %rbp
        ROUND
        mov     %ebp, %eax
        and     $7, %eax
        setne   %al
        movzbl  %al, %eax
        sub     %rax, %rsi
        lea     9f(%rip), %rdx
        movslq  (%rdx,%rax,4), %rax
        add     %rdx, %rax
        jmp     *%rax
1:      POP(%rbp)
        .cfi_restore rbp
        RESULT
        ret
END
        .section .rodata
        .p2align 2
9:      .long   1b - 9b, 0b - 9b
