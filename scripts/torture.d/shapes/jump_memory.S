/* torture: The entry jumps through a pointer, as a PLT does. */
#include "shape.h"
        .text
        .p2align 4
0:      .cfi_startproc
        ROUNDS(1, 2)
        ret
        .cfi_endproc
        .p2align 4
BEGIN
        jmp     *9f(%rip)
END
        .section .data.rel.ro, "aw"
        .p2align 3
9:      .quad   0b
