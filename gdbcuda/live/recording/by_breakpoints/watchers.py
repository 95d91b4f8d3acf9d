"""The recorder's breakpoints: internal, at bare addresses, never stopping the program unless it is to stop there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import gdb

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import breakpoints, process
from gdbcuda.live.placing import own_process
from gdbcuda.live.recording.base import planting
from gdbcuda.machine import abi
from gdbcuda.machine.behind_jump import AT_ENTRY, Behind


class Told(Protocol):
    """Who is told, and counts."""

    is_paused: bool
    stops: int
    missed: int

    def entered(
        self, spot: planting.PlantingSpot, function: api.Function, arguments: Sequence[abi.ValuePlace], behind: Behind
    ) -> Call | None: ...
    def is_bad(self, call: Call) -> bool: ...
    def returned(self, address: int) -> None: ...
    def jumped(self, name: str) -> None: ...


class Watcher(own_process.Internal):
    """Looks on and never stops. What a broken process cannot tell is counted, not recorded."""

    def __init__(self, recorder: Told, address: int) -> None:
        super().__init__(address)
        self.recorder = recorder

    def stop(self) -> bool:
        if self.recorder.is_paused:
            return False
        self.recorder.stops += 1
        try:
            return self.look()
        except (Unreadable, UserError, gdb.error):
            self.recorder.missed += 1
            return False

    def look(self) -> bool:
        raise NotImplementedError


class FunctionEntry(Watcher):
    """At a function's first instruction, or behind a jump that somebody has written over it."""

    def __init__(
        self, recorder: Told, spot: planting.PlantingSpot, function: api.Function, behind: Behind = AT_ENTRY
    ) -> None:
        super().__init__(recorder, spot.address + behind.offset)
        self.spot, self.function, self.behind = spot, function, behind

    @cached_property
    def arguments(self) -> Sequence[abi.ValuePlace]:
        """(Of thousands of functions few are called.)"""
        return abi.locate(self.function, process.machine())

    def look(self) -> bool:
        call = self.recorder.entered(self.spot, self.function, self.arguments, self.behind)
        return call is not None and self.recorder.is_bad(call) and self.is_stop()

    def is_stop(self) -> bool:
        return bool(self.behind.offset) or stop_behind(self.spot.address)


class CallReturn(Watcher):
    """Where a caller goes on."""

    def look(self) -> bool:
        self.recorder.returned(self.address)
        return False


class Jump(Watcher):
    """Where a thread leaves its calls, or its stack."""

    def __init__(self, recorder: Told, address: int, name: str) -> None:
        super().__init__(recorder, address)
        self.name = name

    def look(self) -> bool:
        self.recorder.jumped(self.name)
        return False


def stop_behind(start: int) -> bool:
    """Stops the thread by an ordinary breakpoint, for that has a number: a temporary one behind the prologue."""
    address = process.behind_prologue(start)
    if address != start:
        made = breakpoints.execute_break(f"tbreak *{address:#x} thread {gdb.selected_thread().num}")
        own_process.confine(made, address)
    return address == start
