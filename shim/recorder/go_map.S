/* Where gdb sends a thread: all registers and the red zone stay the thread's own. */

    .text
    .globl gdbcuda_go_map_v1
    .protected gdbcuda_go_map_v1
    .type gdbcuda_go_map_v1, @function
gdbcuda_go_map_v1:
    .cfi_startproc
    .cfi_undefined %rip /* nobody has called it. Where code has no such table gdb reads those of all objects for it. */
    lea -128(%rsp), %rsp
    pushf
    .irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
    push %\register
    .endr
    cld
    call gdbcuda_map_wanted
    .globl gdbcuda_mapped_v1
    .protected gdbcuda_mapped_v1
    .type gdbcuda_mapped_v1, @function
gdbcuda_mapped_v1: /* gdb looks here */
    nop
    mov 72(%rsp), %rax /* the flags; not by popf: gdbcuda/machine/library_call.py says why */
    test $4, %ah
    jz 1f
    std
1:
    mov %ah, %cl
    shr $3, %cl
    and $1, %cl
    mov %al, %ah
    add $127, %cl
    sahf
    .irp register, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
    pop %\register
    .endr
    lea 136(%rsp), %rsp
    .hidden gdbcuda_map
    jmp *gdbcuda_map(%rip)
    .cfi_endproc
    .size gdbcuda_go_map_v1, . - gdbcuda_go_map_v1

    .section .note.GNU-stack, "", @progbits
