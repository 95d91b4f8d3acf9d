"""The lines of Python in a trace folder: what the word that a record has for a stack means. (`ring_layout.TOLD`)"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property

from gdbcuda.cpython.line_tables import line_at
from gdbcuda.cpython.python_objects import KINDS, UNKNOWN
from gdbcuda.cpython.thread_frames import UNREADABLE, PythonFrame
from gdbcuda.rings.ring_layout import MAGIC_CODE, MAGIC_STACK, MOST_PYTHON, NOWHERE_KNOWN, TOLD, WORD

HEADS = {MAGIC_STACK: 3, MAGIC_CODE: TOLD["SIZE"]}  # words
MOST_BYTES = 1 << 21  # of one entry
UNIT = {(3, 10): 2}  # bytes of code that a position counts


class ToldCode:
    """A code object as the process has written it down."""

    def __init__(self, head: tuple[int, ...], raw: bytes) -> None:
        self.head, self.raw = head, raw
        self.version = head[TOLD["VERSION"]] >> 8, head[TOLD["VERSION"]] & 255

    def frame(self, position: int) -> PythonFrame:
        return PythonFrame(self.file, self.line(position), self.name)

    def line(self, position: int) -> int | None:
        if position == NOWHERE_KNOWN:
            return None
        return line_at(self.version, self.lines, self.head[TOLD["LINE"]], position * UNIT.get(self.version, 1))

    @property
    def is_frame(self) -> bool:
        """What calls an __init__ is a frame too, since 3.13."""
        return bool(self.head[TOLD["LINE"]]) or self.version < (3, 13)

    @cached_property
    def file(self) -> str:
        return self.text("FILE", 0)

    @cached_property
    def name(self) -> str:
        return self.text("NAME", self.head[TOLD["FILE_SIZE"]])

    @cached_property
    def lines(self) -> bytes:
        start = self.head[TOLD["FILE_SIZE"]] + self.head[TOLD["NAME_SIZE"]]
        return self.raw[start : start + self.head[TOLD["LINES_SIZE"]]]

    def text(self, which: str, start: int) -> str:
        kind = KINDS.get(self.head[TOLD[f"{which}_KIND"]], "latin-1")
        return self.raw[start : start + self.head[TOLD[f"{which}_SIZE"]]].decode(kind, "replace") or UNKNOWN


class PythonStacks:
    """``frames`` of an id, innermost first; [] where the file does not tell it."""

    def __init__(self, raw: bytes) -> None:
        self.codes: dict[int, ToldCode] = {}
        self.stacks: dict[int, tuple[int, ...]] = {}
        for head, rest in entries(raw):
            if head[0] == MAGIC_CODE:
                self.codes[head[TOLD["ID"]]] = ToldCode(head, rest)
            else:
                self.stacks[head[1]] = struct.unpack(f"<{len(rest) // WORD}Q", rest)

    def frames(self, number: int) -> list[PythonFrame]:
        words = self.stacks.get(number, ())
        each = [(self.codes.get(code), at) for code, at in zip(words[::2], words[1::2])]
        return [code.frame(at) if code else without_code(at) for code, at in each if not code or code.is_frame]


def without_code(position: int) -> PythonFrame:
    """A frame that could not be read, or those in the middle of a deep stack: how many (shim/trace/python_frames.c)."""
    return PythonFrame("", None, f"<{position} frames more>") if position < NOWHERE_KNOWN else UNREADABLE


def entries(raw: bytes) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """The words of each head, and what follows it. One that a killed process or a full disk has cut off is left out."""
    at = 0
    while at + WORD <= len(raw):
        size = HEADS.get(int.from_bytes(raw[at : at + WORD], "little"), 0) * WORD
        if not size or at + size > len(raw):
            at = next_entry(raw, at + 1)
            continue
        head = struct.unpack_from(f"<{size // WORD}Q", raw, at)
        rest = size_behind(head)
        end = at + size + rest
        if not 0 <= rest <= MOST_BYTES or end > len(raw) or not is_beginning(raw, end):
            at = next_entry(raw, at + 1)
            continue
        yield head, raw[at + size : end]
        at = end


def size_behind(head: tuple[int, ...]) -> int:
    if head[0] == MAGIC_STACK:
        return head[2] * 2 * WORD if head[2] <= MOST_PYTHON else -1
    return sum(head[TOLD[name]] for name in ("FILE_SIZE", "NAME_SIZE", "LINES_SIZE"))


def is_beginning(raw: bytes, at: int) -> bool:
    return at == len(raw) or int.from_bytes(raw[at : at + WORD], "little") in HEADS


def next_entry(raw: bytes, start: int) -> int:
    found = [raw.find(magic.to_bytes(WORD, "little"), start) for magic in HEADS]
    return min((one for one in found if one >= 0), default=len(raw))
