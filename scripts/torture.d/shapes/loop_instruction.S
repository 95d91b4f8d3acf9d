/* torture (loops): jrcxz and loop, which have no long form, at the entry. */
#include "shape.h"
        .p2align 4
BEGIN
        mov     %esi, %ecx
        jrcxz   3f
        and     $7, %ecx
3:      inc     %ecx
4:      ROUND
        dec     %rsi
        loop    4b
        inc     %rsi
        RESULT
        ret
END
