"""Tells whether gdb's breakpoints are in the process, by one that nobody meets, at the program's entry point.

At a vfork gdb takes all of them out, and before gdb 13 the other threads run on, and may stop, until the child is gone.
An int3 that is written past gdb then is the program's own byte for gdb, for ever.
(gdb's infrun.c: follow_fork_inferior, breakpoints_not_allowed.)
"""

from __future__ import annotations

from contextlib import suppress

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import inserted, own_process, silence

INT3 = b"\xcc"


class Witness(own_process.Internal):
    sees_all_calls = False

    def stop(self) -> bool:
        return False


class ProcessWitness:
    """Of one process."""

    def __init__(self) -> None:
        self.breakpoint: Witness | None = None

    def end(self) -> None:
        if self.breakpoint is not None and self.breakpoint.is_valid():
            self.breakpoint.delete()


KNOWN: PerInferior[ProcessWitness] = PerInferior(ProcessWitness, ProcessWitness.end)


def want() -> None:
    """In this process, from now on. (A gdb that keeps the breakpoints of processes apart stops all at a vfork.)"""
    if own_process.CAN_CONFINE:
        return
    known = KNOWN()
    address = process.auxiliary().get("AT_ENTRY") if process.connection() == "native" else None
    if known.breakpoint is None and address is not None:
        with suppress(gdb.error):
            known.breakpoint = Witness(address)


def are_out() -> bool:
    """Though they ought to be in."""
    memory, one = process.raw_memory(), KNOWN().breakpoint
    if memory is None or one is None or not one.is_valid() or not inserted.now():
        return False
    with suppress(Unreadable):
        return memory.read(one.address, 1) != INT3
    return False


silence.ON_SILENT.append(want)
silence.ARE_OUT.append(are_out)
