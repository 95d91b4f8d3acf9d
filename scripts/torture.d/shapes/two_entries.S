/* torture: Falls into a second entry three bytes behind the first, which others call (as memcpy and its checked form). */
#include "shape.h"
        .p2align 4
BEGIN
        mov     %rsi, %rdx
        .type   LOCAL(inner), @function
LOCAL(inner):                           /* rdx: the size */
        mov     (%rdi), %rax
        imul    $31, %rax, %rax
        add     %rdx, %rax
        mov     %rax, (%rdi)
        test    $7, %dl
        je      1f
        dec     %rdx
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    LOCAL(inner)
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
1:      mov     %rdx, %rsi
        RESULT
        ret
END
