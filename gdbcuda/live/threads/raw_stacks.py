"""Where stopped threads are, and where their stacks may lead, as the kernel tells it: without gdb, which calls threads
running while it lets them go on. (proc(5): /proc/PID/task/TID/syscall.)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Set
from dataclasses import dataclass

from gdbcuda.errors import Unreadable
from gdbcuda.live import process

DEEPEST = 1 << 18  # bytes of a stack that are looked at
PAGE = 1 << 12


@dataclass
class WhereThreadsAre:
    """``at``: where they stand; ``ahead``: words of their stacks, a signal handler may return there."""

    at: set[int]
    ahead: set[int]


def look(pid: int, memory: process.RawMemory, wanted: Set[int]) -> WhereThreadsAre | None:
    """Of the stacks those words that are ``wanted``. None where a thread cannot be seen, or runs."""
    found = WhereThreadsAre(set(), set())
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            place = position(pid, thread)
            if place is None:
                return None
            found.at.add(place[0])
            found.ahead |= wanted & set(words(memory, place[1]))
    except OSError:
        return None
    return found


def position(pid: int, thread: str) -> tuple[int, int] | None:
    """(pc, stack pointer) of a thread that stands still."""
    with open(f"/proc/{pid}/task/{thread}/syscall") as file:
        fields = file.read().split()
    if len(fields) < 3:  # "running"
        return (0, 0) if is_over(pid, thread) else None
    return int(fields[-1], 16), int(fields[-2], 16)


def is_over(pid: int, thread: str) -> bool:
    """As the first thread is where others go on without it."""
    with open(f"/proc/{pid}/task/{thread}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] in "ZX"


def words(memory: process.RawMemory, stack: int) -> tuple[int, ...]:
    """From the stack pointer on, as far as there is memory."""
    start = stack & -8
    size = DEEPEST
    while size >= PAGE:
        try:
            raw = memory.read(start, size)
            return struct.unpack(f"<{len(raw) // 8}Q", raw)
        except Unreadable:
            size //= 2
    end = (start | PAGE - 1) + 1
    try:
        return struct.unpack(f"<{(end - start) // 8}Q", memory.read(start, end - start))
    except Unreadable:
        return ()
