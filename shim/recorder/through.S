/* What the entry of a recorded function jumps to: a slot says which function it is and calls it; what is common to all
 * notes the call before that, and the return behind it. A call of its own in each slot is one that the processor foresees.
 *
 * Every register is what the function's caller left in it, and then what the function left in it: compilers keep values
 * in registers over calls of functions that they know (gcc's -fipa-ra). The vector registers are only read.
 * Unwinders, also those that only follow rbp, see a frame between the function and its caller.
 */

#include "shape.h"

#define AT(word) ((word) * 8)
#define IN_SLOT 5 /* bytes: its first call */
#define LINE 64   /* of the cache, in bytes */
#define SOON (4 << FRONT_SIZE_BITS) /* the front of some calls later */
#define IN_FRAME(word) ((word) - FRAME_SIZE - 1) * 8(%rbp)

    /* Those beside rdx, r10 and r11. */
    .macro keep_others
    mov %rdi, IN_FRAME(FRAME_REGISTERS)
    mov %rsi, IN_FRAME(FRAME_REGISTERS + 1)
    mov %rcx, IN_FRAME(FRAME_REGISTERS + 3)
    mov %r8, IN_FRAME(FRAME_REGISTERS + 4)
    mov %r9, IN_FRAME(FRAME_REGISTERS + 5)
    .endm

    .macro others_back
    mov IN_FRAME(FRAME_REGISTERS), %rdi
    mov IN_FRAME(FRAME_REGISTERS + 1), %rsi
    mov IN_FRAME(FRAME_REGISTERS + 3), %rcx
    mov IN_FRAME(FRAME_REGISTERS + 4), %r8
    mov IN_FRAME(FRAME_REGISTERS + 5), %r9
    .endm

    .text
    .globl gdbcuda_slots_v1
    .type gdbcuda_slots_v1, @function
    .balign 16
.Lslots_here:
gdbcuda_slots_v1:
    .cfi_startproc
    /* Of all slots alike. At a slot's begin it is as at a function's entry, behind its first call the frame is there:
     * CFA = (rip & 15) >= 5 ? rbp + 16 : rsp + 8, and the caller's rbp = (rip & 15) >= 5 ? *(CFA - 16) : rbp. */
    .cfi_escape 0x0f, 0x0e, 0x77, 0x08, 0x76, 0x10, 0x80, 0x00, 0x3f, 0x1a, 0x35, 0x2a, 0x28, 0x01, 0x00, 0x13
    .cfi_escape 0x16, 0x06, 0x12, 0x76, 0x00, 0x80, 0x00, 0x3f, 0x1a, 0x35, 0x2a, 0x28, 0x03, 0x00, 0x2f, 0x04, 0x00, \
        0x13, 0x40, 0x1c, 0x06
    .set .Lindex, 0
    .rept MOST_FUNCTIONS
    .byte 0xe8 /* call gdbcuda_called */
    .long gdbcuda_called - . - 4
    call *functions_here + AT(.Lindex * FUNCTION_SIZE + FUNCTION_ORIGINAL)(%rip)
    .byte 0xe9 /* jmp gdbcuda_returned */
    .long gdbcuda_returned - . - 4
    .set .Lindex, .Lindex + 1
    .endr
    .cfi_endproc
    .size gdbcuda_slots_v1, . - gdbcuda_slots_v1

    /* What debuggers call it where the function was called: behind the first address. */
    .type gdbcuda_recorded_call, @function
    .set gdbcuda_recorded_call, .Lslots_here + IN_SLOT
    .size gdbcuda_recorded_call, MOST_FUNCTIONS * SLOT_SIZE - IN_SLOT

    .type gdbcuda_called, @function
    .balign 64
gdbcuda_called:
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
    mov %rdx, IN_FRAME(FRAME_REGISTERS + 2)
    mov %r10, IN_FRAME(FRAME_R10)
    mov %r11, IN_FRAME(FRAME_R11)

    /* As gdbcuda_entered, where of a call only words are noted and its thread has a ring. */
    mov gdbcuda_ring@gottpoff(%rip), %r10
    mov %fs:(%r10), %r10
    mov %rax, IN_FRAME(FRAME_SLOT)
    lea .Lslots_here + IN_SLOT(%rip), %r11
    sub %r11, %rax
    imul $AT(FUNCTION_SIZE) / SLOT_SIZE, %rax, %rax
    lea functions_here(%rip), %r11
    add %rax, %r11
    mov %r11, IN_FRAME(FRAME_WORDS)
    cmp $1, %r10 /* BUSY */
    jbe .Lentered
    mov AT(STATE_CONFINED) + recorder_here(%rip), %rdx
    or AT(STATE_CALLERS) + recorder_here(%rip), %rdx
    or AT(STATE_AROUND) + recorder_here(%rip), %rdx
    jnz .Lentered
    testb $IS_PLAIN, AT(FUNCTION_SHAPE)(%r11)
    jz .Lentered
    mov AT(RING_RECORDS)(%r10), %rdx
    dec %rdx
    js .Lentered
    mov $1, %eax
    xadd %rax, AT(RING_HEAD)(%r10)
    mov %rdx, IN_FRAME(FRAME_RESULT)
    and %rax, %rdx
    shl $FRONT_SIZE_BITS, %rdx
    lea AT(RING_HEADER)(%r10, %rdx), %rdx
    inc %rax
    mov %rax, IN_FRAME(FRAME_POSITION)
    mov %r10, IN_FRAME(FRAME_RING)
    mov %rdx, IN_FRAME(FRAME_RECORD)
    prefetchw SOON(%rdx)
    prefetchw SOON + LINE(%rdx)
    xor %eax, %eax
    mov %rax, AT(FRONT_POSITION)(%rdx)
    mov %rax, AT(FRONT_DONE)(%rdx)
    mov %rax, AT(FRONT_OUTS)(%rdx)
    mov AT(FUNCTION_RECORDED)(%r11), %rax
    mov %rax, AT(FRONT_FUNCTION)(%rdx)
    mov 8(%rbp), %rax
    mov %rax, AT(FRONT_BACK)(%rdx)
    lea 16(%rbp), %rax
    mov %rax, AT(FRONT_TOP)(%rdx)
    mov IN_FRAME(FRAME_REGISTERS + 2), %rax
    mov %rdi, AT(FRONT_REGISTERS)(%rdx)
    mov %rsi, AT(FRONT_REGISTERS + 1)(%rdx)
    mov %rax, AT(FRONT_REGISTERS + 2)(%rdx)
    mov %rcx, AT(FRONT_REGISTERS + 3)(%rdx)
    mov %r8, AT(FRONT_REGISTERS + 4)(%rdx)
    mov %r9, AT(FRONT_REGISTERS + 5)(%rdx)
    cmpq $0, AT(FUNCTION_ROOM)(%r11)
    mov %rdx, %rax
    jne .Lhas_more
.Lbegun:
    mov %rax, %r11
    rdtsc
    shl $32, %rdx
    or %rdx, %rax
    mov %rax, AT(FRONT_ENTERED)(%r11)
    mov IN_FRAME(FRAME_POSITION), %rdx
    mov %rdx, AT(FRONT_POSITION)(%r11)
    sub AT(RING_LATER_TICKS)(%r10), %rax
    cmp $PAIR_EVERY, %rax
    ja .Llook_at_clock
    /* The slot calls the function with the registers that it was called with; those that it leaves are in the frame then. */
.Lgo:
    mov IN_FRAME(FRAME_REGISTERS + 2), %rdx
    mov IN_FRAME(FRAME_R10), %r10
    mov IN_FRAME(FRAME_R11), %r11
    mov -8(%rbp), %rax
    push IN_FRAME(FRAME_SLOT)
    ret
gdbcuda_returned:
    mov %rax, IN_FRAME(FRAME_RESULT)
    mov %rdx, IN_FRAME(FRAME_REGISTERS + 2)
    mov %r10, IN_FRAME(FRAME_R10)
    mov %r11, IN_FRAME(FRAME_R11)
    /* As gdbcuda_left, where there is nothing to note but the result and one word at most. */
    mov AT(STATE_CONFINED) + recorder_here(%rip), %rdx
    or AT(STATE_BEHIND) + recorder_here(%rip), %rdx
    jnz .Lleft
    mov IN_FRAME(FRAME_RING), %r10
    mov IN_FRAME(FRAME_RECORD), %r11
    rdtsc
    shl $32, %rdx
    or %rax, %rdx
    mov IN_FRAME(FRAME_POSITION), %rax
    cmpq $0, AT(RING_RECORDS)(%r10)
    je .Lback
    cmp %rax, AT(FRONT_POSITION)(%r11)
    jne .Lback
    mov %rdx, AT(FRONT_LEFT)(%r11)
    mov IN_FRAME(FRAME_RESULT), %rax
    mov %rax, AT(FRONT_RESULT)(%r11)
    test %eax, %eax
    jnz .Ldone
    mov IN_FRAME(FRAME_WORDS), %rax
    testb $HAS_MORE_LEFT, AT(FUNCTION_SHAPE)(%rax)
    jnz .Lleft
    testb $HAS_PLAIN_OUT, AT(FUNCTION_SHAPE)(%rax)
    jz .Ldone
    mov %rcx, IN_FRAME(FRAME_REGISTERS + 3)
    mov %r8, IN_FRAME(FRAME_REGISTERS + 4)
    mov %r9, IN_FRAME(FRAME_REGISTERS + 5)
    mov AT(FUNCTION_OUTS)(%rax), %eax
    movzbl %al, %ecx
    shr $8, %eax
    mov AT(FRONT_REGISTERS)(%r11, %rcx, 8), %rcx
    lea -1(%rcx, %rax), %r8
    mov %rcx, %r9
    xor %rbp, %r9
    xor %rbp, %r8
    or %r8, %r9
    shr $PAGE_BITS, %r9
    jnz .Lelsewhere /* mostly it is beside the return address */
.Lwritten:
    mov %rax, AT(FRONT_OUTS)(%r11)
    cmp $4, %eax
    je 1f
    mov (%rcx), %rcx
    jmp 2f
1:  mov (%rcx), %ecx
2:  mov %rcx, AT(FRONT_OUTS + 1)(%r11)
    mov IN_FRAME(FRAME_REGISTERS + 3), %rcx
    mov IN_FRAME(FRAME_REGISTERS + 4), %r8
    mov IN_FRAME(FRAME_REGISTERS + 5), %r9
.Ldone:
    mov IN_FRAME(FRAME_POSITION), %rax
    mov %rax, AT(FRONT_DONE)(%r11)
.Lback:
    mov IN_FRAME(FRAME_REGISTERS + 2), %rdx
    mov IN_FRAME(FRAME_R10), %r10
    mov IN_FRAME(FRAME_R11), %r11
    mov IN_FRAME(FRAME_RESULT), %rax
    mov %rbp, %rsp
    .cfi_remember_state
    .cfi_def_cfa_register %rsp
    pop %rbp
    .cfi_restore %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_restore_state

    /* What the call has on the stack goes to the function and into the record. So many words are nearly always there, and
     * whoever counts them guesses wrong. */
.Lhas_more:
    mov AT(FUNCTION_ROOM)(%r11), %rdx
    xadd %rdx, AT(RING_MORE)(%r10)
    mov IN_FRAME(FRAME_RESULT), %r11 /* records - 1 */
    inc %r11
    shl $FRONT_SIZE_BITS, %r11
    lea AT(RING_HEADER)(%r10, %r11), %r10 /* behind the fronts */
    shr $(FRONT_SIZE_BITS - MORE_ROOM_BITS), %r11
    dec %r11
    and %r11, %rdx
    lea (%r10, %rdx, 8), %r11
    prefetchw 3 * LINE(%r11)
    mov IN_FRAME(FRAME_RING), %r10
    shl $PLACE_BIT, %rdx
    or %rdx, AT(FRONT_FUNCTION)(%rax)
    sub $AT(PLAIN_STACK + PLAIN_STACK % 2), %rsp
    lea 16 + AT(PLAIN_STACK) - 1(%rbp), %rdx
    xor %rbp, %rdx
    shr $PAGE_BITS, %rdx
    jnz .Lat_end_of_page
    .set .Lindex, 0
    .rept PLAIN_STACK
    mov 16 + AT(.Lindex)(%rbp), %rdx
    mov %rdx, AT(.Lindex)(%rsp)
    mov %rdx, AT(.Lindex)(%r11)
    .set .Lindex, .Lindex + 1
    .endr
    jmp .Lbegun

.Lat_end_of_page:
    mov %rcx, IN_FRAME(FRAME_REGISTERS + 3)
    mov IN_FRAME(FRAME_WORDS), %rcx
    mov AT(FUNCTION_STACK)(%rcx), %rcx
    jrcxz 2f
1:  mov 8(%rbp, %rcx, 8), %rdx
    mov %rdx, -8(%rsp, %rcx, 8)
    mov %rdx, -8(%r11, %rcx, 8)
    dec %rcx
    jnz 1b
2:  mov IN_FRAME(FRAME_REGISTERS + 3), %rcx
    jmp .Lbegun

.Lelsewhere:
    mov %rcx, %r9
    shr $PAGE_BITS, %r9
    mov %r9d, %r8d
    and $(SEEN - 1), %r8d
    shl $4, %r8d /* a pair */
    cmp %r9, AT(SEEN_AT)(%r10, %r8)
    jne .Lnot_seen
    sub AT(SEEN_AT + 1)(%r10, %r8), %rdx
    cmp $WRITTEN_FOR, %rdx
    jae .Lnot_seen
    lea -1(%rcx, %rax), %r8
    shr $PAGE_BITS, %r8
    cmp %r9, %r8
    jne .Lnot_seen
    jmp .Lwritten

.Llook_at_clock:
    keep_others
    mov %r10, %rdi
    call ring_look_at_clock
    others_back
    jmp .Lgo

.Lnot_seen:
    mov IN_FRAME(FRAME_REGISTERS + 3), %rcx
    mov IN_FRAME(FRAME_REGISTERS + 4), %r8
    mov IN_FRAME(FRAME_REGISTERS + 5), %r9
.Lleft:
    keep_others
    lea IN_FRAME(0), %rdi
    call gdbcuda_left
    others_back
    jmp .Lback

.Lentered:
    keep_others
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
2:  others_back
    jmp .Lgo
    .cfi_endproc
    .size gdbcuda_called, . - gdbcuda_called

    .section .note.GNU-stack, "", @progbits
