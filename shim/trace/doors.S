/* What objects get in the place of a function. A hook library may overwrite what it gets, and copy the instructions that
 * were there, as many bytes as it needs for a jump, with or without a look at them. So they mean the same anywhere, and
 * one ends where such jumps do: behind 5, 6, 12, 13, 14 and 16 bytes. Those of a slot say by their place whose it is.
 */

#include "ring_layout.h"

    .macro COPIED_BY_WHO_OVERWRITES_IT
    .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
    .byte 0x90
    .byte 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00
    .byte 0x90
    .byte 0x90
    .byte 0x66, 0x90
    .endm

    .section .rodata
    .globl door_begins
    .hidden door_begins
door_begins:
    COPIED_BY_WHO_OVERWRITES_IT

    .text
    .hidden gdbcuda_slots
    .globl gdbcuda_doors_v1
    .protected gdbcuda_doors_v1
    .type gdbcuda_doors_v1, @function
    .balign DOOR_SIZE
gdbcuda_doors_v1:
    .cfi_startproc
    .set .Lindex, 0
    .rept MOST_FUNCTIONS
    COPIED_BY_WHO_OVERWRITES_IT
    .byte 0x0f, 0x1f, 0x40, 0x00
    .byte 0xe9 /* jmp, to its slot */
    .long gdbcuda_slots + .Lindex * SLOT_SIZE - . - 4
    .balign DOOR_SIZE, 0xcc
    .set .Lindex, .Lindex + 1
    .endr
    .cfi_endproc
    .size gdbcuda_doors_v1, . - gdbcuda_doors_v1

    .section .note.GNU-stack, "", @progbits
