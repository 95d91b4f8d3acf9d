"""Where stopped threads are, and where their stacks may lead, as the kernel tells it: without gdb, which calls threads
running while it lets them go on. (proc(5): /proc/PID/task/TID/syscall.)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Set
from contextlib import suppress

import gdb

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host import inferiors

DEEPEST = 1 << 18  # bytes of a stack that are looked at
FAR_PIECE = 1 << 12  # over a link: most stacks are short
PAGE = 1 << 12
ASIDE = range(2, 34)  # bytes behind the program's entry point: two copies of 16 (gdb's displaced-stepping.c)
OVER = ("Z", "X")  # as the first thread is where others go on without it
STANDING = ("t", *OVER)


@dataclass
class WhereThreadsAre:
    """``at``: where they stand; ``ahead``: words of their stacks, a signal handler may return there."""

    at: set[int]
    ahead: set[int]

    def are_in(self, address: int, inside: range, is_stepped: bool = True) -> bool:
        """In bytes that are about to change; ``is_stepped``: one who stands in front of them too."""
        standing = range(address + (not is_stepped), inside.stop)
        return not self.at.isdisjoint(standing) or not self.ahead.isdisjoint(inside)

    def is_one_stepped_aside(self) -> bool:
        """gdb has it execute a copy of the instruction below a breakpoint, and then puts it behind that instruction."""
        return any(map(is_aside, self.at))


def is_aside(at: int) -> bool:
    entry = process.auxiliary().get("AT_ENTRY")
    return entry is not None and at - entry in ASIDE


def look(memory: process.WritableMemory, wanted: Set[int]) -> WhereThreadsAre | None:
    """Of the stacks those words that are ``wanted``. None where a thread cannot be seen, or runs."""
    found = WhereThreadsAre(set(), set())
    try:
        for thread in threads():
            place = position(thread)
            if place is None:
                return None
            found.at.add(place[0])
            if process.is_remote():  # of who is at a breakpoint gdbserver takes the one byte back as it lets him go on
                found.at.add(place[0] - 1)
            found.ahead |= wanted & set(words(memory, place[1]))
    except OSError:
        return None
    return found


def threads() -> Iterable[int]:
    """By the kernel's numbers."""
    if process.is_remote():
        return [one.ptid[1] for one in inferiors.threads()]
    return map(int, os.listdir(f"/proc/{gdb.selected_inferior().pid}/task"))


def position(thread: int) -> tuple[int, int] | None:
    """(pc, stack pointer) of a thread that stands still."""
    if not process.is_remote() and state(thread) not in STANDING:  # who sleeps may wake up
        return None
    fields = process.of_thread(thread, "syscall").split()
    if len(fields) < 3:  # "running"
        return (0, 0) if state(thread) in OVER else None
    return int(fields[-1], 16), int(fields[-2], 16)


def state(thread: int) -> str:
    """One letter; "" where nobody can tell."""
    return process.of_thread(thread, "stat").rpartition(")")[2][1:2]


def words(memory: process.WritableMemory, stack: int) -> tuple[int, ...]:
    """From the stack pointer on, as far as there is memory."""
    start = stack & -8
    raw = far(memory, start) if isinstance(memory, process.FarMemory) else near(memory, start)
    return struct.unpack(f"<{len(raw) // 8}Q", raw)


def far(memory: process.FarMemory, start: int) -> bytes:
    found = bytearray()
    with suppress(Unreadable):
        for at in range(start & -FAR_PIECE, start + DEEPEST, FAR_PIECE):
            first = max(start, at)
            found += memory.read(first, at + FAR_PIECE - first)
    return bytes(found)


def near(memory: process.RawMemory, start: int) -> bytes:
    size = DEEPEST
    while size >= PAGE:
        try:
            return memory.read(start, size)
        except Unreadable:
            size //= 2
    try:
        return memory.read(start, (start | PAGE - 1) + 1 - start)
    except Unreadable:
        return b""
