"""Where a function goes on whose entry somebody has overwritten with a jump: at its first instruction behind that.

Whoever calls the function's own code comes by there, with a copy of the first instructions or with these put back.
(x86-64; Intel SDM volume 2.)
"""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda.elf.code.x86_read import Instruction, UnknownInstruction, instructions
from gdbcuda.machine import entry_jump
from gdbcuda.machine.x86.x86_jumps import opcode
from gdbcuda.machine.x86.x86_stack import ENTRY, UnknownFrame, after
from gdbcuda.machine.x86.x86_write import R8, R9, RCX, RDI, RDX, RSI

LONGEST = 32  # bytes that somebody may have overwritten
NEEDED = LONGEST + 16  # bytes of the function that are looked at
ARGUMENTS = frozenset((RDI, RSI, RDX, RCX, R8, R9))
PUSHES = frozenset((*range(0x50, 0x58), 0x68, 0x6A, 0x90))
COMPARES = frozenset((0x38, 0x39, 0x3A, 0x3B, 0x3C, 0x3D, 0x84, 0x85, 0xA8, 0xA9))
TO_OPERAND = frozenset((0x01, 0x09, 0x21, 0x29, 0x31, 0x81, 0x83, 0x88, 0x89, 0xC6, 0xC7))
TO_REGISTER = frozenset((0x03, 0x0B, 0x23, 0x2B, 0x33, 0x63, 0x8B, 0x8D))
VECTORS_AND_NOPS = frozenset((0x11, 0x1E, 0x1F, 0x29))  # behind 0f
ENDBR64 = b"\x0f\x1e\xfa"  # without its prefix
REX_R, REX_B = 4, 1


class Behind(NamedTuple):
    """``offset`` from the entry; ``taken``: bytes of the stack that the instructions in front of it have taken."""

    offset: int
    taken: int


AT_ENTRY = Behind(0, 0)


def place(own: bytes, there: bytes) -> Behind | None:
    """``own`` is the function's code as its file has it, ``there`` what is at its entry now. None where arguments or
    stack are not as they were, or the code is not understood."""
    end, stack = overwritten(own, there), ENTRY
    try:
        for at, one in instructions(own):
            if at >= end:
                return Behind(at, stack.depth - (ENTRY.depth or 0)) if stack.depth is not None else None
            if not keeps_arguments(one):
                return None
            stack = after(stack, one)
    except (UnknownInstruction, UnknownFrame):
        pass
    return None


def overwritten(own: bytes, there: bytes) -> int:
    """Of the jump some bytes may be as they were; behind it there may be filling."""
    differ = [at for at, (one, other) in enumerate(zip(own[:LONGEST], there)) if one != other]
    return max(entry_jump.size(there), differ[-1] + 1 if differ else 0)


def keeps_arguments(one: Instruction) -> bool:
    """False where that is not certain."""
    rex, code = opcode(one.raw)
    op, operand = code[0], (code + b"\0")[1]
    if one.kind:
        return False
    if op == 0x0F:
        return code[:3] == ENDBR64 or (operand in VECTORS_AND_NOPS and not is_register((code + b"\0\0")[2]))
    if 0xB8 <= op <= 0xBF or 0x58 <= op <= 0x5F:
        return numbered(op, rex & REX_B) not in ARGUMENTS
    if op in TO_OPERAND:
        return not is_register(operand) or numbered(operand, rex & REX_B) not in ARGUMENTS
    if op in TO_REGISTER:
        return numbered(operand >> 3, rex & REX_R) not in ARGUMENTS
    return op in PUSHES or op in COMPARES


def is_register(operand: int) -> bool:
    return operand >= 0xC0


def numbered(bits: int, is_extended: int) -> int:
    return bits & 7 | (8 if is_extended else 0)
