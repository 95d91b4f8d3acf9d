"""Moves threads out of code that goes, one by one, the others standing still. Only where all are stopped.

No thread of the program is single-stepped over an instruction that keeps the flags or takes them back: the trap flag
by which processors step would be among those kept, or stay set behind it. Where gdb has gone that ends the program, by
SIGTRAP. (gdb's amd64-tdep.c: amd64_displaced_step_fixup; Linux's arch/x86/kernel/step.c: enable_single_step.)
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Callable

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.placing import own_process
from gdbcuda.live.threads import positions
from gdbcuda.text.patterns import pattern

LONGEST_WAY = 300  # instructions of a trampoline, more than any has
PREFIX, WITH_FLAGS = b"\x66", (b"\x9c", b"\x9d")  # pushf, popf
FAULTS = (signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
HITS_LEFT = pattern(r"^\s+disable after (?:next|additional) (\d+) hits$", re.MULTILINE)


class NextInstruction(own_process.Internal):
    """Stops the program."""

    sees_all_calls = False

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.silent = True

    def stop(self) -> bool:
        return True


def step_out(inside: Callable[[int], bool]) -> None:
    """A debugger that cannot hold the others (cuda-gdb 13) moves none: the instructions stay while a thread is in
    them."""
    with positions.same_thread(), suppress(gdb.error):
        moved = [one for one in inferiors.threads() if is_inside(one, inside)]
        if moved:
            with users_breakpoints_off():
                for thread in filter(gdb.InferiorThread.is_valid, moved):
                    move(thread, inside)


def is_inside(thread: gdb.InferiorThread, inside: Callable[[int], bool]) -> bool:
    where = positions.switched_positions(thread)
    return where is not None and inside(where[0][0])


def move(thread: gdb.InferiorThread, inside: Callable[[int], bool]) -> None:
    was_at: int | None = None
    for _ in range(LONGEST_WAY):
        if not is_inside(thread, inside):
            break
        pc = int(gdb.newest_frame().pc())
        if was_at in (None, pc) and is_about_to_die():
            break
        was_at = pc
        go_past(pc)


def is_about_to_die() -> bool:
    """Of what its instruction has done, as soon as it goes on: the program would end in the middle of the user's
    `detach`, and gdb 13 with it."""
    try:
        number = process.signal_number()
    except gdb.error:
        return False
    return number in FAULTS and not process.catches(number)


@contextmanager
def users_breakpoints_off() -> Iterator[None]:
    """A way out leads to one of them. gdb would count a hit, and execute its commands: with a `continue` among them the
    program runs on, and with it whatever waits for the threads to be out."""
    off = {one: hits_left(one) for one in gdb.breakpoints() if one.number > 0 and one.enabled}
    try:
        for one in off:
            one.enabled = False
        yield
    finally:
        for one in filter(gdb.Breakpoint.is_valid, off):
            with suppress(gdb.error):  # one that gdb cannot put in leaves the others off, else
                gdb_cli.execute(f"enable count {off[one]} {one.number}" if off[one] else f"enable {one.number}")


def hits_left(breakpoint: gdb.Breakpoint) -> int:
    """Of one that the user has enabled by ``enable count``, which any other way to enable it would end; else 0."""
    told = HITS_LEFT.search(gdb_cli.execute(f"info breakpoints {breakpoint.number}"))
    return int(told[1]) if told else 0


def go_past(pc: int) -> None:
    """One instruction of the selected thread."""
    size = size_with_flags(pc)
    if not size:
        gdb_cli.execute("with scheduler-locking on -- stepi")
        return
    behind = NextInstruction(pc + size)
    try:
        gdb_cli.execute("with scheduler-locking on -- continue")
    finally:
        if behind.is_valid():
            behind.delete()


def size_with_flags(pc: int) -> int:
    memory = process.InferiorMemory()
    size = 1 + (memory.read(pc, 1) == PREFIX)
    return size if memory.read(pc + size - 1, 1) in WITH_FLAGS else 0
