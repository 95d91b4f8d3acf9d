"""What a recorder is to record, and what it has in each process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import gdb

from gdbcuda import condition as conditions
from gdbcuda.calls.stacks import Stacks
from gdbcuda.data_classes import dataclass, field
from gdbcuda.live.threads.call_registers import CallMachine, here


@dataclass
class RecordWish:
    """What is recorded: functions by ELF symbol, the layers they are in, whose calls, how many frames of stack."""

    functions: frozenset[str]
    places: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    stack: int = 0
    condition: conditions.Condition | None = None
    folder: str = ""  # where the process itself keeps its calls, of each thread the last so many
    last: int = 0
    python: frozenset[str] = frozenset()  # of these the process itself notes the lines of Python that led there
    releases: frozenset[str] = frozenset()  # of the functions those that nobody named: what these hand out goes back

    @property
    def is_some(self) -> bool:
        """Of the calls of these functions only some are taken."""
        return bool(self.callers) or self.condition is not None


@dataclass
class RecordedProcess:
    """What the recorder has in one process: none of it means anything in another."""

    number: int = field(default_factory=lambda: int(gdb.selected_inferior().num))
    machine: CallMachine = field(default_factory=here)
    threads: dict[int, Stacks] = field(default_factory=dict)  # by gdb's number
    entries: dict[int, gdb.Breakpoint] = field(default_factory=dict)  # by address, like the next two
    returns: dict[int, gdb.Breakpoint] = field(default_factory=dict)
    jumps: dict[int, gdb.Breakpoint] = field(default_factory=dict)
    passed: Iterator[int] = field(default_factory=lambda: itertools.count(1))  # numbers for conditions that count

    def breakpoints(self) -> list[gdb.Breakpoint]:
        return [*self.entries.values(), *self.returns.values(), *self.jumps.values()]
