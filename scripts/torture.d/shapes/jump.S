/* torture: The entry is a jump of five bytes to the body, as an incremental linker or a hot patch makes it. */
#include "shape.h"
        .text
        .p2align 4
0:      .cfi_startproc
        ROUNDS(1, 2)
        ret
        .cfi_endproc
        .p2align 4
BEGIN
        .byte   0xe9
        .long   0b - (. + 4)
END
