/* torture: A hot-patch nop of two bytes behind endbr64, filling in front. */
#include "shape.h"
        .p2align 4
        .skip   16, 0x90
BEGIN
        endbr64
        xchg    %ax, %ax
        ROUNDS(1, 2)
        ret
END
