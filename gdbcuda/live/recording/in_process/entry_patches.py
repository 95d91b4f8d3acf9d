"""Entries of functions that jump to the recorder in the process, for as long as it runs.

At every stop of the user's the functions have their own bytes, so that nobody who looks there, sets a breakpoint or
lets the process go has to know of us. When the process goes on, the jumps are written: gdb has all its threads stopped
still, and its breakpoints are yet to come. A function keeps its own bytes for that time where a thread stands in them
(the user may step it), or may return into them from a signal handler, or where a breakpoint would be within the jump.
gdb's own breakpoint on a function's first byte bears the jump below it.
(gdb manual: "Events In Python"; proc(5): /proc/PID/mem.)
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.patching import own_instructions
from gdbcuda.live.threads import raw_stacks

INT3 = 0xCC
MOST_LOOKS, LOOKS_APART = 20, 0.005  # seconds


@dataclass
class EntryPatch:
    """``is_foreign``: somebody else has written there."""

    address: int
    own: bytes
    jump: bytes
    is_written: bool = False
    is_foreign: bool = False

    @property
    def inside(self) -> range:
        """Behind the first byte."""
        return range(self.address + 1, self.address + len(self.jump))

    def write(self, memory: process.RawMemory) -> None:
        self.is_written = self.change(memory, self.own, self.jump)
        if self.is_written:
            process.PATCHED()[self.address] = self.own
            own_instructions.hide(self.address, self.jump, self.own)

    def restore(self, memory: process.RawMemory) -> None:
        self.is_written = False
        process.PATCHED().pop(self.address)
        self.change(memory, self.jump, self.own)

    def change(self, memory: process.RawMemory, before: bytes, after: bytes) -> bool:
        """If ``before`` is what is there; below a breakpoint of gdb's, which has to know."""
        try:
            there = memory.read(self.address, len(before))
            if there == before:
                memory.write(self.address, after)
            elif there[0] == INT3 and there[1:] == before[1:] and is_below(self.address, before):
                gdb.selected_inferior().write_memory(self.address, after)
            else:
                self.is_foreign = True
        except (Unreadable, gdb.error):
            self.is_foreign = True
        return not self.is_foreign


def is_below(address: int, wanted: bytes) -> bool:
    """What is under gdb's breakpoints."""
    return process.InferiorMemory().read(address, len(wanted)) == wanted


def write_all(patches: Iterable[EntryPatch], taken: set[int], is_stepped: bool = True) -> None:
    """The process is about to go on. ``taken``: addresses of breakpoints, and of bytes that others replace;
    ``is_stepped``: the user may step a thread that stands at an entry."""
    memory, pid = process.raw_memory(), gdb.selected_inferior().pid
    if memory is None:
        return
    waiting = [one for one in patches if not one.is_written and not one.is_foreign]
    free = [one for one in waiting if taken.isdisjoint(one.inside)]
    threads = where_they_stand(pid, memory, {at for one in free for at in one.inside}) if free else None
    if threads is None:
        return
    for one in free:
        standing = range(one.address + (not is_stepped), one.inside.stop)
        if threads.at.isdisjoint(standing) and threads.ahead.isdisjoint(one.inside):
            one.write(memory)


def where_they_stand(pid: int, memory: process.RawMemory, wanted: set[int]) -> raw_stacks.WhereThreadsAre | None:
    """A thread that gdb has stopped may still be on its way off its processor, where there are few for many."""
    for _ in range(MOST_LOOKS):
        found = raw_stacks.look(pid, memory, wanted)
        if found is not None:
            return found
        time.sleep(LOOKS_APART)
    return None


def restore_all(patches: Iterable[EntryPatch]) -> None:
    memory = process.raw_memory()
    for one in patches:
        if memory is not None and one.is_written:
            with suppress(OSError):
                one.restore(memory)
