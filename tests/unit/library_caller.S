/* library_caller(CODE, BEFORE, AFTER): jumps to the code with registers and flags from BEFORE, which goes on to `onward`. */
    .data
after: .quad 0
stack: .quad 0
    .text
    .globl library_caller, onward
library_caller:
    .irp register, rbx, rbp, r12, r13, r14, r15
    push %\register
    .endr
    mov %rdx, after(%rip)
    mov %rsp, stack(%rip)
    mov %rdi, -256(%rsp)
    mov %rsi, %rax
    .set at, 0
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vmovdqu at(%rax), %ymm\number
    .set at, at + 32
    .endr
    .irp register, rcx, rdx, rbx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    mov at(%rax), %\register
    .set at, at + 8
    .endr
    movq $0x5a5a, -128(%rsp) /* the red zone */
    push at + 8(%rax)
    popf
    mov at(%rax), %rax
    jmp *-256(%rsp)
onward:
    pushf
    cld
    push %rax
    mov after(%rip), %rax
    .set at, 0
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vmovdqu %ymm\number, at(%rax)
    .set at, at + 32
    .endr
    .irp register, rcx, rdx, rbx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    mov %\register, at(%rax)
    .set at, at + 8
    .endr
    pop %rcx
    mov %rcx, at(%rax)
    pop %rcx
    mov %rcx, at + 8(%rax)
    mov -128(%rsp), %rcx
    mov %rcx, at + 16(%rax)
    sub stack(%rip), %rsp
    mov %rsp, at + 24(%rax)
    mov stack(%rip), %rsp
    .irp register, r15, r14, r13, r12, rbp, rbx
    pop %\register
    .endr
    vzeroupper
    ret
    .section .note.GNU-stack, "", @progbits
