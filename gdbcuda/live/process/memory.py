"""Bytes of the program under debug: its memory, its code without our detours, its values.
(gdb manual: "Inferiors In Python", "Values From Inferior".)
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.process.state import connection
from gdbcuda.memory import Memory
from gdbcuda.memory.paged_memory import PagedMemory


class InferiorMemory:
    """``read(address, size) -> bytes`` through gdb alone: it can fail, it can never fault the program."""

    def read(self, address: int, size: int) -> bytes:
        if not size:  # an error in gdb 16
            return b""
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except (gdb.error, OverflowError, ValueError):
            raise Unreadable(address, size) from None


def in_pages(memory: Memory) -> Memory:
    """For tables that lie side by side. Of a core file gdb reads a page that a library's file ends in as zeros, and
    less than the page rightly. (gdb's corelow.c: core_target::xfer_partial; bfd: bfd_get_section_contents.)"""
    return memory if connection() == "core" else PagedMemory(memory)


LONGEST_PATCH = 16


class PatchedCode:
    """What our detours have replaced in one process: address -> the program's own bytes, by where they are: thousands
    of functions may be patched, and only few are where somebody reads."""

    def __init__(self) -> None:
        self.own: dict[int, bytes] = {}
        self.ordered: list[int] = []

    def __contains__(self, address: int) -> bool:
        return address in self.own

    def __setitem__(self, address: int, own: bytes) -> None:
        if address not in self.own:
            insort(self.ordered, address)
        self.own[address] = own

    def update(self, others: Mapping[int, bytes]) -> None:
        self.own.update(others)
        self.ordered = sorted(self.own)

    def pop(self, address: int) -> None:
        if self.own.pop(address, None) is not None:
            del self.ordered[bisect_left(self.ordered, address)]

    def within(self, start: int, end: int) -> list[tuple[int, bytes]]:
        """Those of which a byte may be there."""
        first, last = bisect_left(self.ordered, start - LONGEST_PATCH), bisect_left(self.ordered, end)
        return [(at, self.own[at]) for at in self.ordered[first:last]]


PATCHED: PerInferior[PatchedCode] = PerInferior(PatchedCode)


def original_code(address: int, size: int, memory: Memory | None = None) -> bytes:
    """The program's code as it was before our detours."""
    code = (memory or InferiorMemory()).read(address, size)
    patches = PATCHED().within(address, address + size)
    if not patches:
        return code
    own = bytearray(code)
    for at, raw in patches:
        first, last = max(at, address), min(at + len(raw), address + size)
        if first < last:
            own[first - address : last - address] = raw[first - at : last - at]
    return bytes(own)


class OriginalCode:
    """The same as a `Memory`, over gdb's own or another one."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def read(self, address: int, size: int) -> bytes:
        return original_code(address, size, self.memory)


# gdb has read these with the frame: asking the process again would be one more packet.
WHOLE_NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ENUM)


def bytes_of(value: gdb.Value) -> bytes:
    """The bytes of a value as they are in the program."""
    if hasattr(value, "bytes"):  # gdb 15
        return bytes(value.bytes)
    if value.address is not None and value.type.strip_typedefs().code not in WHOLE_NUMBERS:
        return InferiorMemory().read(int(value.address), value.type.sizeof)
    return (int(value) & (1 << 8 * value.type.sizeof) - 1).to_bytes(value.type.sizeof, "little")
