/* What the entry of a recorded function jumps to: a slot says which function it is; what is common to all notes the
 * call, calls the function, notes the return.
 *
 * Every register is what the function's caller left in it, and then what the function left in it: compilers keep values
 * in registers over calls of functions that they know (gcc's -fipa-ra). The vector registers are only read.
 * Unwinders, also those that only follow rbp, see a frame between the function and its caller.
 */

#include "ring_layout.h"

#define IN_FRAME(word) ((word) - FRAME_SIZE - 1) * 8(%rbp)

    .macro keep_registers
    mov %rdi, IN_FRAME(0)
    mov %rsi, IN_FRAME(1)
    mov %rdx, IN_FRAME(2)
    mov %rcx, IN_FRAME(3)
    mov %r8, IN_FRAME(4)
    mov %r9, IN_FRAME(5)
    mov %r10, IN_FRAME(FRAME_R10)
    mov %r11, IN_FRAME(FRAME_R11)
    .endm

    .macro registers_back
    mov IN_FRAME(0), %rdi
    mov IN_FRAME(1), %rsi
    mov IN_FRAME(2), %rdx
    mov IN_FRAME(3), %rcx
    mov IN_FRAME(4), %r8
    mov IN_FRAME(5), %r9
    mov IN_FRAME(FRAME_R10), %r10
    mov IN_FRAME(FRAME_R11), %r11
    .endm

    .text
    .globl gdbcuda_slots_v1
    .type gdbcuda_slots_v1, @function
    .balign 16
gdbcuda_slots_v1:
    .cfi_startproc
    /* CFA = rsp + 8, and 8 more behind the push, which is 5 bytes: of all slots alike. */
    .cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x35, 0x2a, 0x33, 0x24, 0x22
    .set index, 0
    .rept MOST_FUNCTIONS
    .byte 0x68 /* push $index */
    .long index
    .byte 0xe9 /* jmp gdbcuda_recorded_call */
    .long gdbcuda_recorded_call - . - 4
    .balign SLOT_SIZE, 0xcc
    .set index, index + 1
    .endr
    .cfi_endproc
    .size gdbcuda_slots_v1, . - gdbcuda_slots_v1

    .type gdbcuda_recorded_call, @function
gdbcuda_recorded_call:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    push %rax
    .cfi_adjust_cfa_offset 8
    mov 8(%rsp), %rax
    mov %rbp, 8(%rsp)
    .cfi_offset %rbp, -16
    lea 8(%rsp), %rbp
    .cfi_def_cfa %rbp, 16
    sub $(FRAME_SIZE * 8), %rsp
    mov %rax, IN_FRAME(FRAME_FUNCTION)
    keep_registers
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    movq %xmm\number, IN_FRAME(FRAME_FLOATS + \number)
    .endr
    mov %rsp, %rdi
    call gdbcuda_entered

    mov IN_FRAME(FRAME_STACK), %rcx
    lea 1(%rcx), %rax
    and $-2, %rax
    shl $3, %rax
    sub %rax, %rsp
    jrcxz 2f
1:  mov 8(%rbp, %rcx, 8), %rax
    mov %rax, -8(%rsp, %rcx, 8)
    dec %rcx
    jnz 1b
2:  registers_back
    mov -8(%rbp), %rax
    call *IN_FRAME(FRAME_ORIGINAL)

    mov %rax, IN_FRAME(FRAME_RESULT)
    keep_registers
    lea IN_FRAME(0), %rdi
    call gdbcuda_left
    registers_back
    mov IN_FRAME(FRAME_RESULT), %rax
    mov %rbp, %rsp
    .cfi_def_cfa_register %rsp
    pop %rbp
    .cfi_restore %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size gdbcuda_recorded_call, . - gdbcuda_recorded_call

    .section .note.GNU-stack, "", @progbits
