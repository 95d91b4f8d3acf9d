"""What code refers to by its distance, as compilers write it: other code by call, jmp and lea, and what is read from
memory by mov, call and jmp (x86-64).

No disassembly: four bytes behind such an opcode that lead exactly to the beginning of one of few functions are hardly
ever anything else. (Intel SDM, CALL, JMP and LEA; ModRM 00 reg 101 is a distance from the next instruction.)
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from gdbcuda.text.patterns import pattern

NEAR = pattern(rb"(?:[\xe8\xe9]|\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d])(?=(.{4}))", re.DOTALL)
READING = pattern(rb"(?:\x8b[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]|\xff[\x15\x25])(?=(.{4}))", re.DOTALL)
DISTANCE = 4  # bytes


def code_references(code: bytes, start: int, targets: Container[int]) -> Iterator[tuple[int, int]]:
    """(address of the instruction, target), of those of the targets that the code at ``start`` refers to."""
    return references(NEAR, code, start, targets)


def data_references(code: bytes, start: int, targets: Container[int]) -> Iterator[tuple[int, int]]:
    """The same, of those that it reads."""
    return references(READING, code, start, targets)


def references(
    kind: re.Pattern[bytes], code: bytes, start: int, targets: Container[int]
) -> Iterator[tuple[int, int]]:  # fmt: skip
    for found in kind.finditer(code):
        target = start + found.end() + DISTANCE + int.from_bytes(found[1], "little", signed=True)
        if target in targets:
            yield start + found.start(), target
