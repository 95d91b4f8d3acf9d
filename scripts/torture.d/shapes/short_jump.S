/* torture: The entry is a jump of two bytes, and another function begins right behind it. */
#include "shape.h"
        .p2align 4
BEGIN
        jmp     0f
        .cfi_endproc
        .size   NAME, .- NAME
        .type   LOCAL(round), @function
LOCAL(round):                           /* is called by the body: bytes 2 to 5 from NAME on are its first */
        .cfi_startproc
        ROUND
        ret
        .cfi_endproc
        .size   LOCAL(round), .- LOCAL(round)
        .type   LOCAL(body), @function
LOCAL(body):
        .cfi_startproc
0:      call    LOCAL(round)
        test    $7, %sil
        je      1f
        dec     %rsi
        jmp     0b
1:      RESULT
        ret
        .cfi_endproc
        .size   LOCAL(body), .- LOCAL(body)
