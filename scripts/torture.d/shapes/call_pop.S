/* torture (blind): Finds out where it is as 32-bit code does: call 1f; 1: pop. */
#include "shape.h"
        .p2align 4
BEGIN
        call    7f
7:      .cfi_adjust_cfa_offset 8
        POP(%rax)
        lea     7b(%rip), %rdx
        cmp     %rax, %rdx
        je      3f
        notq    (%rdi)
3:      ROUNDS(1, 2)
        ret
END
