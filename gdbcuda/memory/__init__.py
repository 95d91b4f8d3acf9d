"""How everything below ``live/`` reads the program: one method, so that a dictionary can stand in for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from gdbcuda.errors import NotRecorded, Unreadable

ADDRESSES = 1 << 64
PAGE = 4096  # the smallest page of any machine we know: no readable byte range ends inside one
PIECE = 256  # bytes of a string that are asked for at once: few are longer, and a remote target sends them all
LONGEST_NAME = 4096  # bytes: PATH_MAX


class Memory(Protocol):
    """The memory of a program, or of a core file, or of a test."""

    def read(self, address: int, size: int) -> bytes:
        """Exactly ``size`` bytes at ``address``; `Unreadable` if any of them cannot be read."""


class DictMemory:
    """Memory made of ``{address: bytes}``; segments that touch read as one, everything else is unreadable."""

    def __init__(self, segments: Mapping[int, bytes]) -> None:
        self.segments = dict(sorted(segments.items()))

    def read(self, address: int, size: int) -> bytes:
        """As `Memory.read`. Costs one pass over the segments: meant for tests and small recordings."""
        found = b""
        for start, data in self.segments.items():
            at = address + len(found) - start
            if len(found) < size and 0 <= at < len(data):
                found += data[at : at + size - len(found)]
        if len(found) < size:
            raise Unreadable(address, size)
        return found


class RecordedMemory(DictMemory):
    """What a recording kept of a program's memory. ``unreadable``: addresses that it could not read; where it did not
    look it says `NotRecorded`."""

    def __init__(self, segments: Mapping[int, bytes], unreadable: Collection[int] = ()) -> None:
        super().__init__(segments)
        self.unreadable = unreadable

    def read(self, address: int, size: int) -> bytes:
        try:
            return super().read(address, size)
        except Unreadable:
            if address in self.unreadable:
                raise
            raise NotRecorded(address, size) from None


def read_string(memory: Memory, address: int, limit: int) -> tuple[bytes, bool]:
    """The bytes at ``address`` up to a NUL, at most ``limit`` of them, and whether the NUL was seen.

    No read crosses the end of a page, so that a string which ends right before an unmapped page is read in full, and a
    read that fails is tried with half the size (a recording holds no more than was asked for). `Unreadable` only if
    the first byte is; later trouble ends the string early (no NUL seen).
    """
    text = b""
    while len(text) <= limit:
        at = address + len(text)
        chunk = _read_some(memory, at, min(PIECE, PAGE - at % PAGE, limit + 1 - len(text)))
        if not chunk and not text:
            memory.read(address % ADDRESSES, 1)  # which says why
            raise Unreadable(address, 1)
        end = chunk.find(b"\0")
        if end >= 0 or not chunk:
            return (text + chunk[: max(end, 0)])[:limit], end >= 0
        text += chunk
    return text[:limit], False


def string_at(memory: Memory, address: int) -> str:
    """A file name, a symbol or the like, at most LONGEST_NAME bytes of it; `Unreadable` if not one is there."""
    return read_string(memory, address, LONGEST_NAME)[0].decode(errors="replace")


def _read_some(memory: Memory, address: int, size: int) -> bytes:
    """``size`` bytes, or half as many, and so on; nothing if there is not even one."""
    while size and address < ADDRESSES:
        try:
            return memory.read(address, size)
        except Unreadable:
            size //= 2
    return b""
