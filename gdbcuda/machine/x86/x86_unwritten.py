"""Which instructions surely leave a general register as it is: those known here, of what compilers write.

Of any other one nobody knows: mul, cltq, cpuid and syscall write some that they do not name. (x86-64, Intel SDM,
volume 2.)
"""

from __future__ import annotations

from gdbcuda.machine.x86.x86_jumps import opcode
from gdbcuda.machine.x86.x86_stack import is_written
from gdbcuda.machine.x86.x86_write import RAX, RSP

OF_TWO_BYTES, VEX = 0x0F, 0xC5
NO_RESULT = frozenset(b"\x38\x39\x3a\x3b\x3c\x3d\x84\x85\xa8\xa9\xe9\xeb") | {*range(0x70, 0x80)}  # cmp, test, jumps
PUSH, POP = frozenset((*range(0x50, 0x58), 0x68, 0x6A)), range(0x58, 0x60)
NOPS = (b"\x90", b"\x66\x90")
GROUPS, COMPARE = (0x80, 0x81, 0x83), 7  # the operation of such a group is in its second byte
NOT_AND_NEG, NOT, NEG = 0xF7, 2, 3
OF_BYTES = (0x80, 0x88, 0xC6)
WRITES_OPERAND = frozenset((
    *(one for one in range(0x40) if one & 7 in (1, 3)), *range(0xB8, 0xC0),
    0x63, 0x69, 0x6B, 0x81, 0x83, 0x87, 0x89, 0x8B, 0x8D, 0xC1, 0xC7, 0xD1, 0xD3,
))  # fmt: skip
# Behind 0f. Of vectors: moves and logic; prefetches, nops, endbr64, jumps.
NO_GENERAL = frozenset((
    *range(0x10, 0x20), 0x28, 0x29, 0x2E, 0x2F, *range(0x54, 0x5A), 0x6F, 0x7F, *range(0x80, 0x90), 0xD6, 0xE7, 0xEF,
))  # fmt: skip
WRITES_FIELD = frozenset((*range(0x40, 0x50), 0xAF, 0xB6, 0xB7, 0xBE, 0xBF))  # cmov, imul, movzx, movsx
SETS = range(0x90, 0xA0)  # setcc
BIT_TEST, REGISTER = 0xBA, 0xC0  # an operand that is one


def leaves(raw: bytes, wanted: int) -> bool:
    """False too where that is not known."""
    rex, code = opcode(raw)
    first, second = code[0], (code + b"\0")[1]
    operation = second >> 3 & 7
    if first == VEX:
        return code[2] in NO_GENERAL
    if first == OF_TWO_BYTES:
        return leaves_of_two_bytes(rex, code, wanted)
    if first in NO_RESULT or raw in NOPS or (first in GROUPS and operation == COMPARE):
        return True
    if first in PUSH:
        return wanted != RSP
    if first in POP:
        return wanted not in (RSP, first & 7 | (rex & 1) << 3)
    if first in OF_BYTES or (first == NOT_AND_NEG and operation in (NOT, NEG)):
        return leaves_operand(rex, second, wanted)
    if first < 0x40 and first & 7 in (4, 5):  # rax with a number
        return wanted != RAX
    return first in WRITES_OPERAND and not is_written(raw, wanted)


def leaves_of_two_bytes(rex: int, code: bytes, wanted: int) -> bool:
    if code[1] in WRITES_FIELD:
        return wanted != (code[2] >> 3 & 7 | (rex & 4) << 1)
    if code[1] in SETS:
        return leaves_operand(rex, code[2], wanted)
    return code[1] in NO_GENERAL or (code[1] == BIT_TEST and code[2] < REGISTER)


def leaves_operand(rex: int, operand: int, wanted: int) -> bool:
    """Of bytes too: %ah is a part of rax."""
    return operand < REGISTER or wanted not in (operand & 7 | (rex & 1) << 3, operand & 3)
