"""From a position in bytecode to a source line. Three formats, each to 3.9, 3.10, 3.11.

(CPython's Objects/lnotab_notes.txt, and Objects/locations.md or codeobject.c of 3.11 and newer.)
"""

from __future__ import annotations

from collections.abc import Iterator

NO_LINE = 128  # 3.10: this piece of code has none
INSTRUCTION = 2  # bytes


def line_at(version: tuple[int, int], table: bytes, first: int, position: int) -> int | None:
    """``position``: bytes from the start of the code. None: that piece of code has no line, or it is none of this
    code's. Of a frame that has not begun it is before the start, by one instruction."""
    if position < -INSTRUCTION:
        return None
    if version >= (3, 11):
        return by_locations(table, first, position)
    return by_ranges(table, first, position) if version == (3, 10) else by_steps(table, first, position)


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def by_steps(table: bytes, line: int, position: int) -> int:
    """3.9: pairs (bytes of code, signed lines) that lead to the next line's start."""
    at = 0
    for size, step in zip(table[::2], table[1::2]):
        at += size
        if at > position:
            break
        line += signed(step)
    return line


def by_ranges(table: bytes, line: int, position: int) -> int | None:
    """3.10: pairs (bytes of code, signed lines from the range before)."""
    end = 0
    for size, step in zip(table[::2], table[1::2]):
        line += 0 if step == NO_LINE else signed(step)
        end += size
        if end > position:
            return None if step == NO_LINE else line
    return None


def by_locations(table: bytes, line: int, position: int) -> int | None:
    """3.11: an entry begins with 1, four bits of its kind, three of its length in units of two bytes, less one."""
    end, data = 0, iter(table)
    for head in data:
        kind = head >> 3 & 15
        line += step_of(kind, data)
        end += 2 * ((head & 7) + 1)
        if end > position:
            return None if kind == 15 else line
    return None


def step_of(kind: int, data: Iterator[int]) -> int:
    """Lines from the entry before; what else the entry says is read over."""
    if kind == 15:  # no location
        return 0
    if kind == 14:  # line, end line, column, end column
        step = signed_varint(data)
        for _ in range(3):
            varint(data)
        return step
    if kind == 13:  # a line alone
        return signed_varint(data)
    for _ in range(2 if kind >= 10 else 1):  # columns
        next(data, 0)
    return max(kind - 10, 0)


def varint(data: Iterator[int]) -> int:
    """Six bits a byte, the lowest first; bit 6 says that more follow."""
    value = shift = 0
    for byte in data:
        value |= (byte & 63) << shift
        if not byte & 64:
            break
        shift += 6
    return value


def signed_varint(data: Iterator[int]) -> int:
    """The sign is in the lowest bit."""
    value = varint(data)
    return -(value >> 1) if value & 1 else value >> 1
