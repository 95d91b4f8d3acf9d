/* torture: The first instruction lies across the end of a page (and of a cache line). */
#include "shape.h"
        .text
        .p2align 12
        .skip   4094, 0x90
BEGIN
        mov     %rsi, %rcx
        mov     %rcx, %rsi
        ROUNDS(1, 2)
        ret
END
