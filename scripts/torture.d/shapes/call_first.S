/* torture: Calls at once, and what is called looks at where it came from. */
#include "shape.h"
        .text
0:      .cfi_startproc
        mov     (%rsp), %rax
        ret
        .cfi_endproc
        .p2align 4
BEGIN
        call    0b
7:      lea     7b(%rip), %rdx
        cmp     %rax, %rdx
        je      3f
        notq    (%rdi)
3:      ROUNDS(1, 2)
        ret
END
