/* delta(call, p, n): calls with known values in every register that the callee must keep, and in those of its arguments.
 * What has changed afterwards is a bit in `damage`: rbx rbp r12 r13 r14 r15, direction flag, mxcsr, x87 control word. */
        .macro check bit, register, offset
        lea     \offset(%rcx), %rdx
        cmp     %rdx, \register
        setne   %dl
        movzbl  %dl, %edx
        shl     $\bit, %edx
        or      %edx, %r11d
        .endm
        .macro keep register
        push    \register
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset \register, 0
        .endm
        .macro restore register
        pop     \register
        .cfi_adjust_cfa_offset -8
        .cfi_restore \register
        .endm
        .text
        .globl  delta
        .type   delta, @function
        .p2align 4
delta:
        .cfi_startproc
        keep    %rbp
        keep    %rbx
        keep    %r12
        keep    %r13
        keep    %r14
        keep    %r15
        sub     $40, %rsp
        .cfi_adjust_cfa_offset 40
        mov     %rdi, %rax
        mov     %rsi, %rdi
        mov     %rdx, %rsi
        mov     %rsi, 24(%rsp)
        stmxcsr 32(%rsp)
        fnstcw  36(%rsp)
        mov     %rsi, %rdx
        xor     $5, %rdx
        mov     %rdx, 0(%rsp)
        xor     $3, %rdx                /* 5 ^ 3 is 6 */
        mov     %rdx, 8(%rsp)
        xor     $7, %rdx                /* 6 ^ 7 is 1 */
        mov     %rsi, %rcx
        xor     $2, %rcx
        mov     %rsi, %r8
        xor     $3, %r8
        mov     %rsi, %r9
        xor     $4, %r9
        lea     1(%rsi), %rbx
        lea     2(%rsi), %rbp
        lea     3(%rsi), %r12
        lea     4(%rsi), %r13
        lea     5(%rsi), %r14
        lea     6(%rsi), %r15
        movsd   .Ldoubles(%rip), %xmm0
        movsd   .Ldoubles+8(%rip), %xmm1
        movsd   .Ldoubles+16(%rip), %xmm2
        movsd   .Ldoubles+24(%rip), %xmm3
        movsd   .Ldoubles+32(%rip), %xmm4
        movsd   .Ldoubles+40(%rip), %xmm5
        movsd   .Ldoubles+48(%rip), %xmm6
        movsd   .Ldoubles+56(%rip), %xmm7
        call    *%rax
        mov     %eax, %r10d
        mov     24(%rsp), %rcx
        xor     %r11d, %r11d
        check   0, %rbx, 1
        check   1, %rbp, 2
        check   2, %r12, 3
        check   3, %r13, 4
        check   4, %r14, 5
        check   5, %r15, 6
        pushfq
        .cfi_adjust_cfa_offset 8
        pop     %rdx
        .cfi_adjust_cfa_offset -8
        shr     $10, %edx
        and     $1, %edx
        shl     $6, %edx
        or      %edx, %r11d
        cld
        stmxcsr 16(%rsp)
        mov     16(%rsp), %edx
        xor     32(%rsp), %edx
        and     $0xffc0, %edx           /* the low bits say what has happened, and may */
        setne   %dl
        movzbl  %dl, %edx
        shl     $7, %edx
        or      %edx, %r11d
        fnstcw  16(%rsp)
        movzwl  16(%rsp), %edx
        cmpw    %dx, 36(%rsp)
        setne   %dl
        movzbl  %dl, %edx
        shl     $8, %edx
        or      %edx, %r11d
        mov     damage@GOTPCREL(%rip), %rdx
        lock orq %r11, (%rdx)
        mov     %r10d, %eax
        add     $40, %rsp
        .cfi_adjust_cfa_offset -40
        restore %r15
        restore %r14
        restore %r13
        restore %r12
        restore %rbx
        restore %rbp
        ret
        .cfi_endproc
        .size   delta, .-delta
        .section .rodata
        .p2align 3
.Ldoubles: .double 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5
        .section .note.GNU-stack, "", @progbits
