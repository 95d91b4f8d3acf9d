/* torture: Three bytes and a short jump: hands on with a tail call, the size in another register. */
#include "shape.h"
        .text
        .p2align 4
0:      .cfi_startproc
        mov     %rcx, %rsi
        ROUNDS(1, 2)
        ret
        .cfi_endproc
BEGIN
        mov     %rsi, %rcx
        jmp     0b
END
