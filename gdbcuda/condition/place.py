"""What a condition needs to know of a process beside the arguments of a call; `gdbcuda.live` implements it.

`ProcessPlaces` is asked while machine code is written, `Surroundings` while a condition is evaluated in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from gdbcuda.condition import typed

Range = tuple[int, int]  # low < address <= high: a return address is behind its call, maybe behind the object's end


class ProcessPlaces(Protocol):
    """The process that machine code is written for. Each method may raise the caller's own kind of refusal."""

    def counter(self, node: typed.Count) -> int:
        """Address of 8 writable bytes: how many calls the rest of the condition has let through (at first zero).
        Asked for once for each condition that counts."""

    def caller_ranges(self, node: typed.CallerIn) -> Sequence[Range]:
        """The return addresses that mean: called from one of ``node.words``. Exact for the objects loaded now."""

    def knows_all_callers(self, node: typed.CallerIn) -> bool:
        """False: a call from elsewhere may be meant as well, and has to be looked at by the debugger."""

    def thread(self, node: typed.Thread) -> int:
        """Address of 8 bytes with what that gdb thread has at fs:0, which is the address of its thread control block
        (psABI 3.4.6; ELF Handling For Thread-Local Storage, 4.4.6); zero while there is no such thread."""


class Surroundings(Protocol):
    """The call that a condition is evaluated for."""

    def is_from(self, words: Sequence[str]) -> bool:
        """Does the call come from one of these layers, objects or functions?"""

    def thread(self) -> int:
        """gdb's number of the thread that calls."""

    def count(self) -> int:
        """One more call that the rest of the condition lets through: the how-manieth it is, from 1 on."""


def within(address: int, ranges: Iterable[Range]) -> bool:
    """Whether the return address is in one of the ranges."""
    return any(low < address <= high for low, high in ranges)


EVERYWHERE = (0, (1 << 64) - 1)


def union(ranges: Iterable[Range]) -> list[Range]:
    """In order, and those that touch as one."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        elif low < high:
            found.append((low, high))
    return found


def complement(ranges: Iterable[Range]) -> list[Range]:
    """All other addresses."""
    start, end = EVERYWHERE
    found = []
    for low, high in union(ranges):
        found.append((start, low))
        start = high
    return union([*found, (start, end)])
