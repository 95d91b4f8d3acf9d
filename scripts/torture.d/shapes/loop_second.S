/* torture (loops): Jumps back behind a first instruction of one byte. */
#include "shape.h"
        .p2align 4
BEGIN
        PUSH(%rbx)
        .cfi_rel_offset rbx, 0
0:      mov     %rsi, %rbx
        ROUND
        and     $7, %ebx
        je      1f
        dec     %rsi
        jmp     0b
1:      POP(%rbx)
        .cfi_restore rbx
        RESULT
        ret
END
