/* torture (loops): Jumps back to its fourth byte, with values in rax, r10, r11 and the flags that it needs. */
#include "shape.h"
        .p2align 4
BEGIN
        xor     %r10d, %r10d            /* 3 bytes; the rounds left are counted in r11, the carry is kept */
0:      mov     %rsi, %rax              /* here it comes back */
        jc      2f
        mov     %rsi, %r11
        and     $7, %r11
        add     $1, %r11
        clc
2:      mov     (%rdi), %r10
        imul    $31, %r10, %r10
        add     %rax, %r10
        mov     %r10, (%rdi)
        dec     %r11
        je      1f
        dec     %rsi
        stc
        jmp     0b
1:      RESULT
        ret
END
