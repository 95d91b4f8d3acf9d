"""The recorder ``stops``: two breakpoints a call, neither of which stops the program.

One at the function's first instruction, one at the return address, where a call is known by its thread and by the
stack pointer. They are internal gdb.Breakpoints whose ``stop`` says False; the user's own breakpoints on the same
functions, and stepping, go on as ever. At bare addresses they would make the next ``run`` fail, so they go with the
process. None is deleted inside ``stop``. (gdb manual: "Breakpoints In Python".)
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

import gdb

from gdbcuda import abi, api, decode
from gdbcuda import condition as conditions
from gdbcuda.errors import UserError
from gdbcuda.live import frames, planting, sites, surroundings, target, versions
from gdbcuda.live import world as worlds
from gdbcuda.live.calling import MACHINES, Machine, here, read
from gdbcuda.live.watchers import Entry, Return
from gdbcuda.log import record
from gdbcuda.log.kernels import HOST_FUNCTION, NAMING
from gdbcuda.log.record import Call
from gdbcuda.sinks import Sink

NAME_KERNELS = (*NAMING, "launch")  # roles of functions that take the host function that stands for a kernel


@dataclass
class Wish:
    """What is recorded: functions by ELF symbol, the layers they are in, whose calls, how many frames of stack."""

    functions: frozenset[str]
    places: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    stack: int = 0
    condition: conditions.Condition | None = None


@dataclass
class Open:
    """A call that is not over: it returns to ``back`` with the stack pointer at ``sp``."""

    call: Call
    function: api.Function
    raws: list[bytes | None]
    back: int
    sp: int


@dataclass
class Recorder:
    """At most one is at work. ``stops`` and ``missed`` (what could not be read) count what it did."""

    wish: Wish
    sinks: list[Sink]
    is_bad: Callable[[Call], bool] = lambda call: False  # after the entry: should the program stop at this call?
    epoch: float = field(default_factory=time.perf_counter)
    number: int = 0
    stops: int = 0
    missed: int = 0
    machine: Machine = field(default_factory=lambda: MACHINES["x86-64"])
    threads: dict[int, list[Open]] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=dict)
    returns: dict[int, Return] = field(default_factory=dict)
    planted: set[tuple[str, int]] = field(default_factory=set)
    noted: set[tuple[str, Any]] = field(default_factory=set)
    passed: Iterator[int] = field(default_factory=lambda: itertools.count(1))  # numbers for conditions that count

    def now(self) -> float:
        return time.perf_counter() - self.epoch

    def note(self, kind: str, key: Any, details: dict[str, Any]) -> None:
        """Once for each thing that other lines refer to."""
        if (kind, key) not in self.noted:
            self.noted.add((kind, key))
            for sink in self.sinks:
                sink.note(self.now(), kind, details)

    # -- entry ------------------------------------------------------------------------------------------------

    def entered(self, spot: planting.Spot, function: api.Function, arguments: Sequence[abi.Location]) -> Call | None:
        """At a function's first instruction; None where the call is not wanted."""
        start, memory = self.now(), target.InferiorMemory()
        stack = target.register(self.machine.stack_pointer)
        back, sp = self.machine.return_place(stack, memory)
        if self.wish.callers and not self.is_wanted_caller(back):
            return None
        raws = [read(place, stack, memory) for place in arguments]
        around = surroundings.Entry(sites.caller(back), lambda: next(self.passed))
        if self.wish.condition is not None and not self.wish.condition.holds(function, raws, memory, around):
            return None
        thread = gdb.selected_thread()
        open_calls = self.threads.setdefault(thread.global_num, [])
        self.drop_unwound(open_calls, function, back, sp)
        call = self.begin(thread, open_calls, spot, start)
        call.caller = self.place(sites.caller(back))
        call.arguments = {a.name: a.data for a in
                          decode.arguments(function, raws, memory, versions.table(), phase="enter")}  # fmt: skip
        if function.role in NAME_KERNELS:
            self.note_kernel(function, raws)
        if self.wish.stack:
            call.stack = self.backtrace()
        open_calls.append(Open(call, function, raws, back, sp))
        self.watch(back)
        for sink in self.sinks:
            sink.entry(call)
        return call

    def begin(self, thread: gdb.InferiorThread, open_calls: list[Open], spot: planting.Spot, start: float) -> Call:
        call = Call(self.number, spot.symbol, start, thread.global_num)
        self.number += 1
        call.pid, call.lwp, _ = thread.ptid
        call.depth, call.parent = len(open_calls), open_calls[-1].call.number if open_calls else None
        call.layer, call.object = spot.layer, os.path.basename(spot.file)
        if ("process", call.pid) not in self.noted:
            self.note("process", call.pid, {"pid": call.pid, "program": target.strip_prefix(target.program())})
        if ("thread", call.thread) not in self.noted:
            details = {"thread": call.thread, "lwp": call.lwp, "name": thread.name, "pid": call.pid}
            self.note("thread", call.thread, details)
        return call

    def place(self, place: frames.Place) -> int:
        if ("place", place.address) not in self.noted:
            self.note("place", place.address, sites.details(place))
        return place.address

    def is_wanted_caller(self, back: int) -> bool:
        return any(surroundings.is_from(sites.caller(back), word) for word in self.wish.callers)

    def note_kernel(self, function: api.Function, raws: list[bytes | None]) -> None:
        """The host function that stands for a kernel has the kernel's name."""
        for parameter, raw in zip(function.parameters, raws):
            if parameter.name in HOST_FUNCTION and not parameter.handle and raw is not None:
                self.place(sites.code(int.from_bytes(raw, "little")))

    def backtrace(self) -> list[int]:
        found, frame = [], gdb.newest_frame().older()
        while frame is not None and len(found) < self.wish.stack:
            found.append(self.place(sites.caller(frame.pc())))
            frame = frame.older()
        return found

    def watch(self, back: int) -> None:
        if back not in self.returns:
            self.returns[back] = Return(self, back)

    # -- return -----------------------------------------------------------------------------------------------

    def returned(self, address: int) -> None:
        """At a return address: ends every call of this thread that returns here now (several after a tail call)."""
        open_calls = self.threads.get(gdb.selected_thread().global_num)
        if not open_calls:
            return
        sp, end = target.register(self.machine.stack_pointer), self.now()
        while open_calls and open_calls[-1].sp < sp:
            self.abandon(open_calls.pop(), record.UNWOUND)
        while open_calls and open_calls[-1].sp == sp and open_calls[-1].back == address:
            self.finish(open_calls.pop(), end)

    def finish(self, ended: Open, end: float) -> None:
        call, function, table, memory = ended.call, ended.function, versions.table(), target.InferiorMemory()
        code = target.register(self.machine.result)
        call.end, call.ended = end, ""
        call.result = decode.result(function, code, table, memory).data
        call.status = code & 0xFFFFFFFF if function.result.kind == "enum" else None
        if not call.failed:
            call.out = out_values(function, ended.raws, memory, table)
        for sink in self.sinks:
            sink.exit(call)

    def abandon(self, lost: Open, why: str) -> None:
        lost.call.end, lost.call.ended = self.now(), why
        for sink in self.sinks:
            sink.exit(lost.call)

    def drop_unwound(self, open_calls: list[Open], function: api.Function, back: int, sp: int) -> None:
        """A call that begins higher on the stack: longjmp or an exception has left the others behind. At the same
        height it is a tail call if it returns to the same place from another function."""
        while open_calls and (open_calls[-1].sp < sp or
                              (open_calls[-1].sp == sp and not is_tail_call(open_calls[-1], function, back))):
            self.abandon(open_calls.pop(), record.UNWOUND)

    def end_threads(self, alive: set[int], why: str) -> None:
        """Ends what the threads that are no more have left open, inner calls first."""
        for number in [n for n in self.threads if n not in alive]:
            for lost in reversed(self.threads.pop(number)):
                self.abandon(lost, why)

    # -- breakpoints ------------------------------------------------------------------------------------------

    def plant(self) -> None:
        """Breakpoints in every object that is new."""
        if not target.is_alive():
            return
        try:
            objects = worlds.objects().all
        except UserError:  # the loader has not begun
            return
        for linkage in objects:
            key = (linkage.image.name, linkage.image.base)
            if key not in self.planted:
                self.planted.add(key)
                self.plant_in(linkage)

    def plant_in(self, linkage: Any) -> None:
        table, count, self.machine = versions.table(), len(self.entries), here()
        for spot in planting.spots(linkage, self.wish.functions, self.wish.places):
            function = table.function(spot.symbol)
            if function is not None and spot.address not in self.entries:
                self.entries[spot.address] = Entry(self, spot, function)
        if len(self.entries) > count:
            self.note("object", spot.file, {"file": spot.file, "layer": spot.layer})

    def forget_process(self, why: str = record.PROCESS_GONE) -> None:
        """Addresses and stacks mean nothing any more."""
        self.end_threads(set(), why)
        for breakpoint in [*self.entries.values(), *self.returns.values()]:
            if breakpoint.is_valid():
                breakpoint.delete()
        for state in (self.entries, self.returns, self.planted, self.noted):
            state.clear()
        self.passed = itertools.count(1)


def is_tail_call(outer: Open, function: api.Function, back: int) -> bool:
    return outer.back == back and outer.function is not function


@functools.cache
def written(function: api.Function) -> tuple[int, ...]:
    """The positions of the parameters that the function writes through."""
    return tuple(i for i, p in enumerate(function.parameters) if p.direction != "in")


def out_values(function: api.Function, raws: list[bytes | None], memory: Any, table: api.Table) -> dict[str, Any]:
    """What a call that succeeded has left behind its out-pointers."""
    positions = written(function)
    found = decode.some_arguments(function, raws, memory, table, positions) if positions else []
    return {one.name: one.data for one in found}
