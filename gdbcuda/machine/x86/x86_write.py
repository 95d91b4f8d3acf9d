"""x86-64 machine code, written: as much of it as guards need (Intel SDM, volume 2, chapter 2 and the opcode tables).

    code = Code()
    code.instruction(b"\\x3b", RSI, Word(1 << 40))   # cmp rsi, [rip + ...]; the word goes behind the code
    code.jump("a", "hit")                            # ja hit
    code.label("hit")
    code.assemble(address)                           # bytes for that address
"""

from __future__ import annotations

import struct
from typing import NamedTuple, Union

from gdbcuda.errors import UserError

RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 = range(12)
INTEGERS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)))
VECTORS = tuple(f"xmm{number}" for number in range(16))
NAMES = {name: number for names in (INTEGERS, VECTORS) for number, name in enumerate(names)}
LOCK = b"\xf0"
CONDITIONS = {"b": 2, "ae": 3, "e": 4, "ne": 5, "be": 6, "a": 7, "p": 10, "l": 12, "ge": 13, "le": 14, "g": 15}
REACH = 1 << 31  # of a 32-bit displacement
JUMP_SIZE = 5  # jmp rel32


class At(NamedTuple):
    """Memory at a register plus a displacement."""

    base: int
    displacement: int = 0


class CodeConstant(NamedTuple):
    """A constant of 64 bits in memory behind the code."""

    value: int


Operand = Union[int, At, CodeConstant]  # an int is a register
Target = Union[str, int, CodeConstant]  # a label, an address, a constant


class Fixup(NamedTuple):
    """A 32-bit displacement at ``at``, counted from ``end`` of its instruction."""

    at: int
    end: int
    target: Target


class Code:
    """Instructions, labels and constants; where it will lie is said at the end."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.labels: dict[str, int] = {}
        self.fixups: list[Fixup] = []
        self.names = 0

    def emit(self, raw: bytes) -> None:
        self.bytes += raw

    def new_label(self) -> str:
        self.names += 1
        return f"label {self.names}"

    def label(self, name: str) -> None:
        self.shorten(name)
        self.labels[name] = len(self.bytes)

    def shorten(self, name: str) -> None:
        """Drops a jump to what follows anyway; ``ja HERE; jmp ELSEWHERE; HERE:`` becomes ``jbe ELSEWHERE``."""
        end = len(self.bytes)
        if not self.ends_in_jump(end, b"\xe9") or end in self.labels.values():
            return
        last = self.fixups.pop()
        del self.bytes[-JUMP_SIZE:]
        if last.target == name:
            return
        condition = self.bytes[-5] if self.ends_in_jump(len(self.bytes), b"\x0f") else 0
        if condition and self.fixups[-1].target == name and len(self.bytes) not in self.labels.values():
            self.bytes[-5] = condition ^ 1
            self.fixups[-1] = Fixup(self.fixups[-1].at, self.fixups[-1].end, last.target)
        else:
            self.jump("", last.target)

    def ends_in_jump(self, end: int, opcode: bytes) -> bool:
        """The last instruction is a jmp (e9), or a jcc (0f)."""
        size = 5 if opcode == b"\xe9" else 6
        is_last = bool(self.fixups) and self.fixups[-1].end == end and isinstance(self.fixups[-1].target, (str, int))
        return is_last and self.bytes[end - size : end - size + 1] == opcode

    def instruction(
        self, opcode: bytes, register: int, operand: Operand, *, wide: bool = True, prefix: bytes = b"",
        immediate: bytes = b"",
    ) -> None:  # fmt: skip
        """[prefix] [REX] opcode ModRM [SIB] [displacement] [immediate]; ``register`` may be an opcode extension."""
        base = operand if isinstance(operand, int) else operand.base if isinstance(operand, At) else 0
        rex = 0x40 | wide << 3 | (register >> 3) << 2 | base >> 3
        self.bytes += prefix + (bytes([rex]) if rex != 0x40 else b"") + opcode
        field = (register & 7) << 3
        if isinstance(operand, CodeConstant):
            self.bytes.append(field | 5)
            self.distance(operand, len(immediate))
        elif isinstance(operand, At):
            self.bytes.append(0x80 | field | base & 7)
            self.bytes += (b"\x24" if base & 7 == RSP else b"") + struct.pack("<i", operand.displacement)
        else:
            self.bytes.append(0xC0 | field | base & 7)
        self.bytes += immediate

    def distance(self, target: Target, behind: int = 0) -> None:
        """32 bits that say how far the target is from here, or from ``behind`` bytes further on."""
        at = len(self.bytes)
        self.fixups.append(Fixup(at, at + 4 + behind, target))
        self.bytes += bytes(4)

    def jump(self, condition: str, target: Target) -> None:
        """jcc rel32, or with "" jmp rel32."""
        self.bytes += bytes([0x0F, 0x80 | CONDITIONS[condition]]) if condition else b"\xe9"
        self.distance(target)

    def constant(self, register: int, value: int) -> None:
        """movabs $value, register"""
        self.bytes += bytes([0x48 | register >> 3, 0xB8 | register & 7]) + struct.pack("<Q", value & (1 << 64) - 1)

    def push(self, register: int) -> None:
        self.bytes += (b"\x41" if register >> 3 else b"") + bytes([0x50 | register & 7])

    def pop(self, register: int) -> None:
        self.bytes += (b"\x41" if register >> 3 else b"") + bytes([0x58 | register & 7])

    def assemble(self, address: int) -> bytes:
        """The bytes to put at ``address``, which is a multiple of 8; `UserError` if a target is out of reach."""
        words = list(
            dict.fromkeys(fixup.target.value for fixup in self.fixups if isinstance(fixup.target, CodeConstant))
        )
        code = bytearray(self.bytes + bytes(-len(self.bytes) % 8 if words else 0))
        places = {value: len(code) + 8 * index for index, value in enumerate(words)}
        for fixup in self.fixups:
            target = fixup.target
            if isinstance(target, int):
                target -= address
            else:
                target = places[target.value] if isinstance(target, CodeConstant) else self.labels[target]
            code[fixup.at : fixup.at + 4] = displacement(target - fixup.end)
        return bytes(code) + b"".join(struct.pack("<Q", value & (1 << 64) - 1) for value in words)


def displacement(distance: int) -> bytes:
    if not -REACH <= distance < REACH:
        raise UserError("it is more than 2 GB away")
    return struct.pack("<i", distance)


def jump(source: int, target: int) -> bytes:
    """``jmp rel32`` at ``source``."""
    return b"\xe9" + displacement(target - source - JUMP_SIZE)
