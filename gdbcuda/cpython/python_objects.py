"""What of Python's objects a stack needs: strings, bytes, code. Nothing read here is trusted, and what cannot be
read is unknown."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import NamedTuple

from gdbcuda.cpython.layouts import NOWHERE, Layout
from gdbcuda.cpython.line_tables import line_at
from gdbcuda.errors import Unreadable
from gdbcuda.memory import Memory

LONGEST_TEXT = 4096  # characters of a file's or a function's name
LONGEST_TABLE = 1 << 20  # bytes of a line table
UNKNOWN = "?"  # (shim/trace writes no text then, which `rings/traced/trace_python.py` calls so)
KINDS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}  # bytes of a character


def word(data: bytes, offset: int) -> int:
    return int(struct.unpack_from("<Q", data, offset)[0])


def half(data: bytes, offset: int) -> int:
    return int(struct.unpack_from("<i", data, offset)[0])


def text_at(memory: Memory, layout: Layout, address: int) -> str:
    """A str; `Unreadable` where there is none."""
    head = memory.read(address, layout.text_compact)
    length, state = word(head, layout.text_length), struct.unpack_from("<I", head, layout.text_state)[0]
    kind, flags = state >> layout.state_shift & 7, state >> layout.state_shift + 3
    if kind not in KINDS or length > LONGEST_TEXT or not flags & 1:  # (one that is not compact is nobody's name)
        raise Unreadable(address, layout.text_compact)
    start = address + (layout.text_ascii if flags & 2 else layout.text_compact)
    return memory.read(start, length * kind).decode(KINDS[kind], errors="replace")


def name_at(memory: Memory, layout: Layout, address: int) -> str:
    with suppress(Unreadable):
        return text_at(memory, layout, address)
    return UNKNOWN


def table_at(memory: Memory, layout: Layout, address: int) -> bytes | None:
    """A bytes; None where there is none."""
    with suppress(Unreadable):
        size = word(memory.read(address, layout.bytes_data), layout.bytes_size)
        return memory.read(address + layout.bytes_data, size) if size <= LONGEST_TABLE else None
    return None


class PythonCode(NamedTuple):
    """A code object. ``start``: where its bytecode begins. ``copies``: where it says where its copies do, or 0. (struct
    _PyCodeArray: how many, then the address of each; the first is that of the code object's own.) ``lines`` is
    None and a name `UNKNOWN` where it cannot be read."""

    file: str
    function: str
    first_line: int
    lines: bytes | None
    start: int
    copies: int = 0

    def line(self, version: tuple[int, int], position: int) -> int | None:
        """``position``: bytes from the start of its bytecode, or of a copy of that."""
        return None if self.lines is None else line_at(version, self.lines, self.first_line, position)

    @property
    def is_whole(self) -> bool:
        return self.lines is not None and UNKNOWN not in (self.file, self.function)


class CodeObjects:
    """Kept from stop to stop. Memory of one that is gone is used again: what was read of it is compared."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.size = layout, layout.code_size
        self.known: dict[tuple[int, bytes], PythonCode] = {}

    def at(self, memory: Memory, address: int) -> PythonCode:
        """`Unreadable` where none is."""
        head = memory.read(address, self.size)
        key = address, head[self.layout.bytes_size :]  # (before it are the counts of references and the type)
        code = self.known.get(key) or self.read(memory, address, head)
        if code.is_whole:
            self.known[key] = code
        elif code.lines is None and code.file == code.function == UNKNOWN:
            raise Unreadable(address, self.size)
        return code

    def read(self, memory: Memory, address: int, head: bytes) -> PythonCode:
        one = self.layout
        name = one.code_name if one.code_qualified_name == NOWHERE else one.code_qualified_name
        return PythonCode(
            name_at(memory, one, word(head, one.code_file)),
            name_at(memory, one, word(head, name)),
            half(head, one.code_first_line),
            table_at(memory, one, word(head, one.code_lines)),
            0 if one.code_start == NOWHERE else address + one.code_start,
            0 if one.code_copies == NOWHERE else word(head, one.code_copies),
        )
