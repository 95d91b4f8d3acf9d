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
#define BELOW_SLOT AT(FRAME_SLOT)
#define FRONT_OF_MORE (1 << (FRONT_SIZE_BITS - MORE_ROOM_BITS)) /* bytes of a front for each word of more */

    /* Those beside rax, rdx and r11. */
    .macro keep_others
    mov %rdi, IN_FRAME(FRAME_REGISTERS)
    mov %rsi, IN_FRAME(FRAME_REGISTERS + 1)
    mov %rcx, IN_FRAME(FRAME_REGISTERS + 3)
    mov %r8, IN_FRAME(FRAME_REGISTERS + 4)
    mov %r9, IN_FRAME(FRAME_REGISTERS + 5)
    mov %r10, IN_FRAME(FRAME_R10)
    .endm

    .macro others_back
    mov IN_FRAME(FRAME_REGISTERS), %rdi
    mov IN_FRAME(FRAME_REGISTERS + 1), %rsi
    mov IN_FRAME(FRAME_REGISTERS + 3), %rcx
    mov IN_FRAME(FRAME_REGISTERS + 4), %r8
    mov IN_FRAME(FRAME_REGISTERS + 5), %r9
    mov IN_FRAME(FRAME_R10), %r10
    .endm

    /* Into r11, of the ring there; rdx is one less than how many it has. */
    .macro take_record
    mov $1, %eax
    xadd %rax, AT(RING_HEAD)(%r11)
    mov %r11, IN_FRAME(FRAME_RING)
    and %rax, %rdx
    shl $FRONT_SIZE_BITS, %rdx
    lea AT(RING_HEADER)(%r11, %rdx), %r11
    inc %rax
    mov %rax, IN_FRAME(FRAME_POSITION)
    mov %r11, IN_FRAME(FRAME_RECORD)
    prefetchw SOON(%r11)
    prefetchw SOON + LINE(%r11)
    movq $0, AT(FRONT_POSITION)(%r11)
    mov IN_FRAME(FRAME_WORDS), %rax
    mov AT(FUNCTION_RECORDED)(%rax), %rax
    mov %rax, AT(FRONT_FUNCTION)(%r11)
    mov 8(%rbp), %rax
    mov %rax, AT(FRONT_BACK)(%r11)
    lea 16(%rbp), %rax
    mov %rax, AT(FRONT_TOP)(%r11)
    mov IN_FRAME(FRAME_RDX), %rdx
    mov %rdi, AT(FRONT_REGISTERS)(%r11)
    mov %rsi, AT(FRONT_REGISTERS + 1)(%r11)
    mov %rdx, AT(FRONT_REGISTERS + 2)(%r11)
    mov %rcx, AT(FRONT_REGISTERS + 3)(%r11)
    mov %r8, AT(FRONT_REGISTERS + 4)(%r11)
    mov %r9, AT(FRONT_REGISTERS + 5)(%r11)
    .endm

    /* What the function has written, where that is surely there: in the page of the return address. */
    .macro note_written size, register
    test $\size - 1, %dl
    jnz .Lleft
    mov %rdx, %rax
    xor %rbp, %rax
    test $-PAGE, %rax
    jnz .Lelsewhere
.Lwritten_\size:
    mov (%rdx), \register
    mov %rax, AT(FRONT_OUTS + 1)(%r11)
    .endm

    .text
    .globl gdbcuda_slots_v1
    .type gdbcuda_slots_v1, @function
    .balign 16
.Lslots_here:
    .globl gdbcuda_slots /* for assembly: binutils before 2.36 let none refer to a protected symbol */
    .hidden gdbcuda_slots
gdbcuda_slots:
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
    mov %rax, -8(%rsp)
    mov (%rsp), %rax
    mov %rbp, (%rsp)
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa %rbp, 16
    lea IN_FRAME(FRAME_SLOT), %rsp
    mov %rax, (%rsp)
    mov %rdx, IN_FRAME(FRAME_RDX)
    mov %r11, IN_FRAME(FRAME_R11)

    /* As gdbcuda_entered, where of a call only words are noted and its thread has a ring. */
    mov gdbcuda_ring@gottpoff(%rip), %r11
    mov %fs:(%r11), %r11
    lea .Lslots_here + IN_SLOT(%rip), %rdx
    sub %rdx, %rax
    imul $AT(FUNCTION_SIZE) / SLOT_SIZE, %rax, %rax
    lea functions_here(%rip), %rdx
    add %rdx, %rax
    mov %rax, IN_FRAME(FRAME_WORDS)
    cmp $1, %r11 /* BUSY */
    jbe .Lentered
    mov AT(STATE_CONFINED) + recorder_here(%rip), %rdx
    or AT(STATE_CALLERS) + recorder_here(%rip), %rdx
    or AT(STATE_AROUND) + recorder_here(%rip), %rdx
    jnz .Lentered
    mov AT(RING_RECORDS)(%r11), %rdx
    sub $1, %rdx
    jb .Lentered
    testl $IS_IN_FRONT, AT(FUNCTION_SHAPE)(%rax)
    jz .Lhas_more
    take_record
    /* The slot calls the function with the registers that it was called with; those that it leaves are in the frame then. */
.Lbegun:
    rdtsc
    shl $32, %rdx
    or %rdx, %rax
    mov %rax, AT(FRONT_ENTERED)(%r11)
    mov IN_FRAME(FRAME_POSITION), %rdx
    mov %rdx, AT(FRONT_POSITION)(%r11)
    mov IN_FRAME(FRAME_RING), %rdx
    sub AT(RING_LATER_TICKS)(%rdx), %rax
    cmp $PAIR_EVERY, %rax
    ja .Llook_at_clock
.Lgo:
    mov IN_FRAME(FRAME_RDX), %rdx
    mov IN_FRAME(FRAME_R11), %r11
    mov -8(%rbp), %rax
    ret
gdbcuda_returned:
    mov %rax, IN_FRAME(FRAME_RESULT)
    mov %rdx, IN_FRAME(FRAME_RDX)
    mov %r11, IN_FRAME(FRAME_R11)
    /* As gdbcuda_left, where there is nothing to note but the result and one word at most. */
    mov AT(STATE_CONFINED) + recorder_here(%rip), %rax
    or AT(STATE_BEHIND) + recorder_here(%rip), %rax
    jnz .Lleft
    mov IN_FRAME(FRAME_RING), %rdx
    cmpq $0, AT(RING_RECORDS)(%rdx)
    je .Lback
    mov IN_FRAME(FRAME_RECORD), %r11
    mov IN_FRAME(FRAME_POSITION), %rax
    cmp %rax, AT(FRONT_POSITION)(%r11)
    jne .Lback
    rdtsc
    shl $32, %rdx
    or %rdx, %rax
    mov %rax, AT(FRONT_LEFT)(%r11)
    mov IN_FRAME(FRAME_RESULT), %rax
    mov %rax, AT(FRONT_RESULT)(%r11)
    test %eax, %eax
    jnz .Lwrote_nothing
    mov IN_FRAME(FRAME_WORDS), %rdx
    testb $HAS_MORE_LEFT, AT(FUNCTION_SHAPE)(%rdx)
    jnz .Lleft
    testb $HAS_PLAIN_OUT, AT(FUNCTION_SHAPE)(%rdx)
    jz .Lwrote_nothing
    mov AT(FUNCTION_OUTS)(%rdx), %eax
    movzbl %al, %edx
    mov AT(FRONT_REGISTERS)(%r11, %rdx, 8), %rdx
    shr $8, %eax
    mov %rax, AT(FRONT_OUTS)(%r11)
    cmp $4, %eax
    jne .Lwrote_word
    note_written 4, %eax
.Ldone:
    mov IN_FRAME(FRAME_POSITION), %rax
    mov %rax, AT(FRONT_DONE)(%r11)
.Lback:
    mov IN_FRAME(FRAME_RDX), %rdx
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

.Lwrote_word:
    note_written 8, %rax
    jmp .Ldone

.Lwrote_nothing:
    movq $0, AT(FRONT_OUTS)(%r11)
    jmp .Ldone

.Lelsewhere:
    mov %r10, IN_FRAME(FRAME_R10)
    mov %rdx, %r10
    shr $PAGE_BITS, %r10
    mov %r10d, %eax
    and $(SEEN - 1), %eax
    shl $4, %eax /* a pair */
    add IN_FRAME(FRAME_RING), %rax
    cmp %r10, AT(SEEN_AT)(%rax)
    mov AT(FRONT_LEFT)(%r11), %r10
    jne .Lnot_seen
    sub AT(SEEN_AT + 1)(%rax), %r10
    cmp $WRITTEN_FOR, %r10
    jae .Lnot_seen
    mov IN_FRAME(FRAME_R10), %r10
    mov AT(FRONT_OUTS)(%r11), %rax
    cmp $4, %rax
    jne .Lwritten_8
    mov (%rdx), %eax
    mov %rax, AT(FRONT_OUTS + 1)(%r11)
    jmp .Ldone

    /* What the call has on the stack goes to the function and into the record. So many words are nearly always there, and
     * whoever counts them guesses wrong. */
.Lhas_more:
    testb $IS_PLAIN, AT(FUNCTION_SHAPE)(%rax)
    jz .Lentered
    mov %r10, IN_FRAME(FRAME_R10)
    lea 1(%rdx), %r10
    take_record
    mov IN_FRAME(FRAME_WORDS), %rax
    mov AT(FUNCTION_ROOM)(%rax), %rdx
    mov IN_FRAME(FRAME_RING), %rax
    xadd %rdx, AT(RING_MORE)(%rax)
    shl $MORE_ROOM_BITS, %r10
    lea AT(RING_HEADER)(%rax, %r10, FRONT_OF_MORE), %rax /* behind the fronts */
    dec %r10
    and %r10, %rdx
    lea (%rax, %rdx, 8), %rax
    prefetchw 3 * LINE(%rax)
    mov IN_FRAME(FRAME_R10), %r10
    shl $PLACE_BIT, %rdx
    or %rdx, AT(FRONT_FUNCTION)(%r11)
    sub $(BELOW_SLOT + AT(PLAIN_STACK + PLAIN_STACK % 2)), %rsp
    lea 16 + AT(PLAIN_STACK) - 1(%rbp), %rdx
    xor %rbp, %rdx
    test $-PAGE, %rdx
    jnz .Lat_end_of_page
    .set .Lindex, 0
    .rept PLAIN_STACK
    mov 16 + AT(.Lindex)(%rbp), %rdx
    mov %rdx, AT(.Lindex)(%rsp)
    mov %rdx, AT(.Lindex)(%rax)
    .set .Lindex, .Lindex + 1
    .endr
    push IN_FRAME(FRAME_SLOT)
    jmp .Lbegun

.Lat_end_of_page:
    mov %rcx, IN_FRAME(FRAME_REGISTERS + 3)
    mov IN_FRAME(FRAME_WORDS), %rcx
    mov AT(FUNCTION_STACK)(%rcx), %rcx
    jrcxz 2f
1:  mov 8(%rbp, %rcx, 8), %rdx
    mov %rdx, -8(%rsp, %rcx, 8)
    mov %rdx, -8(%rax, %rcx, 8)
    dec %rcx
    jnz 1b
2:  mov IN_FRAME(FRAME_REGISTERS + 3), %rcx
    push IN_FRAME(FRAME_SLOT)
    jmp .Lbegun

.Llook_at_clock:
    keep_others
    mov %rdx, %rdi
    sub $BELOW_SLOT, %rsp
    call ring_look_at_clock
    add $BELOW_SLOT, %rsp
    others_back
    jmp .Lgo

.Lnot_seen:
    mov IN_FRAME(FRAME_R10), %r10
.Lleft:
    lea IN_FRAME(0), %rsp
    keep_others
    mov %rsp, %rdi
    call gdbcuda_left
    others_back
    jmp .Lback

.Lentered:
    lea IN_FRAME(0), %rsp
    keep_others
    mov IN_FRAME(FRAME_RDX), %rax
    mov %rax, IN_FRAME(FRAME_REGISTERS + 2)
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    movq %xmm\number, IN_FRAME(FRAME_FLOATS + \number)
    .endr
    mov %rsp, %rdi
    call gdbcuda_entered

    mov IN_FRAME(FRAME_WORDS), %rcx
    mov AT(FUNCTION_STACK)(%rcx), %rcx
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
    push IN_FRAME(FRAME_SLOT)
    jmp .Lgo
    .cfi_endproc
    .size gdbcuda_called, . - gdbcuda_called

    .section .note.GNU-stack, "", @progbits
