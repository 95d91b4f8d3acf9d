/* Room for guards that can be unwound: backtrace(), C++ exceptions, gdb and core files see the caller of a thread in it.
 *
 * The debugger writes a guard's code between gdbcuda_guards_v1 and its end. Behind it are eight tables of the same size,
 * written beside it. Of the instruction at offset N, byte N of each table says
 *   1, 2       where the call's frame begins (CFA): low and high half of a number; 8 * (number + 1) above rsp,
 *              above rbp where the highest bit of the high half is set
 *   3 to 8     rbp, rbx, r12, r13, r14, r15: the caller's value is so many eight bytes below the CFA; 0: in the register
 * So nothing but zeros says: as at a function's entry. The one FDE reads them, relative to rip. The tables are in the
 * file, in its executable segment, because perf looks for what an expression reads in the file alone.
 * (DWARF 5, sections 2.5 and 6.4; System V ABI for x86-64, section 3.6. gdbcuda/machine/unwinding.py writes the tables.)
 */

#define SIZE 262144 /* SLEB128 of a multiple: 0x80, 0x80, and sixteen times the number in two more bytes */

#define OP_DEREF 0x06
#define OP_CONST1U 0x08
#define OP_DUP 0x12
#define OP_SWAP 0x16
#define OP_AND 0x1a
#define OP_MINUS 0x1c
#define OP_OR 0x21
#define OP_PLUS 0x22
#define OP_SHL 0x24
#define OP_BRA 0x28
#define OP_SKIP 0x2f
#define OP_LIT(number) (0x30 + (number))
#define OP_REGISTER(number) 0x70 + (number), 0 /* its value */
#define OP_TABLE(number) 0x70 + RIP, 0x80, 0x80, 0x80 | (16 * (number) & 0x7f), 16 * (number) >> 7, 0x94, 1 /* its byte for rip */

#define DEF_CFA_EXPRESSION 0x0f
#define VAL_EXPRESSION 0x16
#define RBX 3
#define RBP 6
#define RSP 7
#define RIP 16

    .macro caller_of register, table
    .cfi_escape VAL_EXPRESSION, \register, 20, \
        OP_TABLE(\table), OP_DUP, OP_BRA, 5, 0, \
        OP_REGISTER(\register), OP_SKIP, 4, 0, \
        OP_LIT(3), OP_SHL, OP_MINUS, OP_DEREF
    .endm

    .text
    .globl gdbcuda_guards_v1
    .type gdbcuda_guards_v1, @function
    .balign 4096
gdbcuda_guards_v1:
    .cfi_startproc
    .cfi_escape DEF_CFA_EXPRESSION, 40, \
        OP_TABLE(2), OP_DUP, OP_CONST1U, 0x80, OP_AND, OP_BRA, 5, 0, \
        OP_REGISTER(RSP), OP_SKIP, 2, 0, \
        OP_REGISTER(RBP), \
        OP_SWAP, OP_CONST1U, 0x7f, OP_AND, OP_LIT(8), OP_SHL, OP_TABLE(1), OP_OR, \
        OP_LIT(1), OP_PLUS, OP_LIT(3), OP_SHL, OP_PLUS
    caller_of RBP, 3
    caller_of RBX, 4
    caller_of 12, 5
    caller_of 13, 6
    caller_of 14, 7
    caller_of 15, 8
    .zero SIZE
    .cfi_endproc
    .size gdbcuda_guards_v1, . - gdbcuda_guards_v1
    .zero 8 * SIZE

    .section .note.GNU-stack, "", @progbits
