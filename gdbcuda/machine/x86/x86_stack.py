"""What x86-64 instructions do to the stack, as an unwinder has to know it: where the call's frame begins (the CFA, 8
above its return address), and where the caller's values are of the registers that a function has to keep.

Of code that follows the ABI: a register that it has not saved has the caller's value still. (System V ABI for x86-64,
section 3.2; Intel SDM, volume 2.)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Callable

from gdbcuda.data_classes import dataclass, field, replace
from gdbcuda.elf.code.x86_read import Instruction, has_operand
from gdbcuda.machine.x86.x86_jumps import opcode as parted
from gdbcuda.machine.x86.x86_write import NAMES, RAX, RBP, RSP

KEPT = tuple(NAMES[name] for name in ("rbp", "rbx", "r12", "r13", "r14", "r15"))
WORD = 8


class UnknownFrame(Exception):
    """Behind the instruction it is not known where the frame begins."""


@dataclass(frozen=True)
class Stack:
    """``depth``: rsp is so many bytes below the CFA, None where that is not known; ``frame``: the same of rbp, where it
    is a frame pointer; ``saved``: register -> how far below the CFA the caller's value is."""

    depth: int | None = WORD
    frame: int | None = None
    saved: Mapping[int, int] = field(default_factory=dict)

    def at(self, depth: int) -> Stack:
        """rsp is there now; what is below it may be overwritten."""
        if depth < WORD:
            raise UnknownFrame
        return replace(self, depth=depth, saved={one: at for one, at in self.saved.items() if at <= depth})

    def by(self, size: int) -> Stack:
        return self if self.depth is None else self.at(self.depth + size)

    def beyond(self) -> Stack:
        """rsp is somewhere below, as behind ``and $-64, %rsp``."""
        return self if self.frame is not None else lost()

    def pushed(self, register: int = -1) -> Stack:
        found = self.by(WORD)
        return found.saving(register, found.depth)

    def popped(self, register: int = -1) -> Stack:
        if register == RSP or (self.depth is None and register == RBP):
            raise UnknownFrame
        return replace(self.by(-WORD), frame=None) if register == RBP else self.by(-WORD)

    def saving(self, register: int, depth: int | None) -> Stack:
        is_callers = register in KEPT and register not in self.saved
        return replace(self, saved={**self.saved, register: depth}) if is_callers and depth is not None else self

    def framed(self, depth: int | None) -> Stack:
        """rbp is that far below the CFA now."""
        if depth is None or RBP not in self.saved:
            raise UnknownFrame
        return replace(self, frame=depth)

    def left(self) -> Stack:
        """leave"""
        return lost() if self.frame is None else replace(self, depth=self.frame).at(self.frame).popped(RBP)


ENTRY = Stack()


def lost() -> Stack:
    raise UnknownFrame


def number(raw: bytes) -> int:
    return int(struct.unpack("<b" if len(raw) == 1 else "<i", raw)[0])


def register(rex: bytes, bits: int, extended_by: int) -> int:
    return bits & 7 | (8 if rex and rex[0] & extended_by else 0)


Effect = Callable[[Stack, "re.Match[bytes]"], Stack]
EFFECTS: list[tuple[re.Pattern[bytes], Effect]] = [
    (re.compile(pattern, re.DOTALL), effect)
    for pattern, effect in (
        (rb"([\x40-\x4f]?)([\x50-\x57])", lambda s, m: s.pushed(register(m[1], m[2][0], 1))),
        (rb"([\x40-\x4f]?)([\x58-\x5f])", lambda s, m: s.popped(register(m[1], m[2][0], 1))),
        (rb"\x68.{4}|\x6a.|\x9c", lambda s, m: s.pushed()),
        (rb"[\x40-\x4f]?\xff[\x30-\x37\x70-\x77\xb0-\xb7].*", lambda s, m: s.pushed()),  # from memory
        (rb"\x9d", lambda s, m: s.popped()),
        (rb"\xc9", lambda s, m: s.left()),
        (rb"\x48[\x81\x83]\xec(.+)", lambda s, m: s.by(number(m[1]))),  # sub
        (rb"\x48[\x81\x83]\xc4(.+)", lambda s, m: s.by(-number(m[1]))),  # add
        (rb"\x48[\x81\x83]\xe4.+", lambda s, m: replace(s.beyond(), depth=None)),  # and
        (rb"\x48(?:\x89\xe5|\x8b\xec)", lambda s, m: s.framed(s.depth)),  # mov %rsp, %rbp
        (rb"\x48\x8d[\x64\xa4]\x24(.+)", lambda s, m: s.by(-number(m[1]))),  # lea N(%rsp), %rsp
        (rb"\x48\x8d[\x6c\xac]\x24(.+)", lambda s, m: s.framed(s.by(-number(m[1])).depth)),  # lea N(%rsp), %rbp
        (
            rb"([\x48\x4c])\x89([\x44\x4c\x54\x5c\x64\x6c\x74\x7c\x84\x8c\x94\x9c\xa4\xac\xb4\xbc])\x24(.+)",
            lambda s, m: s.saving(register(m[1], m[2][0] >> 3, 4), below(s, number(m[3]))),  # mov REGISTER, N(%rsp)
        ),
    )
]


def below(stack: Stack, displacement: int) -> int | None:
    depth = None if stack.depth is None else stack.depth - displacement
    return depth if depth is not None and depth > 0 and depth % WORD == 0 else None


def after(stack: Stack, instruction: Instruction) -> Stack:
    """The stack behind it; `UnknownFrame`. (A call comes back with the stack as it was.)"""
    if instruction.kind:
        return stack
    for pattern, effect in EFFECTS:
        found = pattern.fullmatch(instruction.raw)
        if found:
            return effect(stack, found)
    if is_written(instruction.raw, RSP):
        raise UnknownFrame
    if not is_written(instruction.raw, RBP) or stack.frame is None:
        return stack
    return replace(stack, frame=None) if stack.depth is not None else lost()


def is_written(raw: bytes, wanted: int) -> bool:
    """By an instruction of one opcode byte: no other one that compilers write means rsp, or rbp where that is a frame
    pointer."""
    bits, code = parted(raw)
    rex, opcode, operand = bytes([bits]), code[0], (code + b"\0")[1]
    if 0xB8 <= opcode <= 0xBF:  # mov
        return register(rex, opcode, 1) == wanted
    if not opcode & 1 or not has_operand(opcode):  # of one byte, or without an operand
        return False
    is_field = (opcode < 0x38 and opcode & 2) or opcode in (0x63, 0x69, 0x6B, 0x87, 0x8B, 0x8D)
    is_operand = operand >= 0xC0 and not is_field and opcode not in (0x39, 0x3B, 0x85)
    return bool(
        (is_field and register(rex, operand >> 3, 4) == wanted)
        or ((is_operand or opcode == 0x87) and register(rex, operand, 1) == wanted)
    )


# -- what is known to leave a register, of what compilers write

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
    """A general register as it is. False too where that is not known: mul, cltq, cpuid and syscall write some that they
    do not name."""
    rex, code = parted(raw)
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
