/* torture: The first instruction takes something relative to itself. */
#include "shape.h"
        .p2align 4
BEGIN
        mov     9f(%rip), %rcx
        lea     9f(%rip), %rdx
        cmp     (%rdx), %rcx
        jne     3f
        add     %rcx, (%rdi)
        sub     %rcx, (%rdi)
3:      ROUNDS(1, 2)
        ret
END
        .section .rodata
        .p2align 3
9:      .quad   0x1234567
