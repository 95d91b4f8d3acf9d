/* torture: The first instruction has ten bytes. */
#include "shape.h"
        .p2align 4
BEGIN
        movabs  $0x123456789abcdef, %rax
        nop
        ROUNDS(1, 2)
        ret
END
