/* torture (loops): Jumps back to its own entry. */
#include "shape.h"
        .p2align 4
BEGIN; 0:
        ROUND
        test    $7, %sil
        je      1f
        dec     %rsi
        jmp     0b
1:      RESULT
        ret
END
