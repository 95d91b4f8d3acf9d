/* torture: A test and a short conditional jump are the first five bytes. */
#include "shape.h"
        .p2align 4
BEGIN
        test    %rsi, %rsi
        jne     3f
        .p2align 3
3:      ROUNDS(1, 2)
        ret
END
