"""Code that changes the answer of a resolver without anybody writing a register. x86-64.

The return address on the stack is made to point here; the resolver returns here, and we go on to the real place. Code
like this needs no inferior call and lies in the zero bytes behind an executable segment. (psABI x86-64, 3.2.2.)
"""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.machine.abi import CONVENTIONS
from gdbcuda.machine.x86.x86_write import INTEGERS, R11, RAX, At, Code, CodeConstant

ARGUMENTS = tuple(INTEGERS.index(name) for name in CONVENTIONS["x86-64"].integers)
MOV_FROM, MOV_TO, MOV_IMMEDIATE, GROUP_5 = b"\x8b", b"\x89", b"\xc7", b"\xff"
JUMP, PUSH = 4, 6  # extensions of opcode ff
MOST_BYTES = 160


def ask_again(resolver: int, arguments: Sequence[int], back: int, address: int) -> bytes:
    """Calls the resolver once more, with these arguments, for the same caller: what it answers then counts."""
    code = Code()
    for register, value in zip(ARGUMENTS, arguments):
        code.instruction(MOV_FROM, register, CodeConstant(value))
    code.instruction(GROUP_5, PUSH, CodeConstant(back), wide=False)
    code.instruction(GROUP_5, JUMP, CodeConstant(resolver), wide=False)
    return code.assemble(address)


def return_value(value: int, back: int, address: int) -> bytes:
    """Returns the value, as dlsym does."""
    code = Code()
    code.instruction(MOV_FROM, RAX, CodeConstant(value))
    code.instruction(GROUP_5, JUMP, CodeConstant(back), wide=False)
    return code.assemble(address)


def write_value(value: int, out: int, status: int, back: int, address: int) -> bytes:
    """Writes the value to ``out`` and success to ``status`` (0: nowhere), and returns success."""
    code = Code()
    code.instruction(MOV_FROM, RAX, CodeConstant(value))
    code.instruction(MOV_FROM, R11, CodeConstant(out))
    code.instruction(MOV_TO, RAX, At(R11))
    if status:
        code.instruction(MOV_FROM, R11, CodeConstant(status))
        code.instruction(MOV_IMMEDIATE, 0, At(R11), wide=False, immediate=bytes(4))
    code.emit(b"\x31\xc0")  # xor eax, eax
    code.instruction(GROUP_5, JUMP, CodeConstant(back), wide=False)
    return code.assemble(address)
