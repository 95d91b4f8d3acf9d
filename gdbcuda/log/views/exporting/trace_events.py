"""A log as events of the Trace Event Format, for Chrome and Perfetto.

Calls nest on the track of their thread, work of the GPU is on a track of its stream. Arrows go from the program's call
to what it became in the driver, and from a call to its work on the GPU. Failures have a mark, and each process has a
counter of its memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gdbcuda.calls.reader import BEGIN, Event, Log
from gdbcuda.calls.record import Call
from gdbcuda.calls.text import CallWriter
from gdbcuda.gpu.causing import makes_work
from gdbcuda.gpu.gpu_calls import GPU
from gdbcuda.ledger.processes import Ledgers
from gdbcuda.log.views.exporting import own_slices

# Names of colours that the format reserves (Trace Event Format, "cname").
COLOURS = {"app": "good", "runtime": "thread_state_iowait", "hook": "thread_state_unknown",
           "driver": "thread_state_running", "kernel": "thread_state_uninterruptible", GPU: "rail_load",
           "": "generic_work"}  # fmt: skip
FAILED = "terrible"
PROCESS_NAME, MEMORY = "process_name", "device memory"
MOST_CAUSES = 100_000  # calls behind one whose work has not been seen yet
MOST_HELD = 100_000  # lines of one call that is not over: of further ones Perfetto shows no arrow
BECOMES, RUNS = "becomes", "runs"  # what arrows say
Line = dict[str, Any]


def trace_events(events: Iterable[Event], log: Log, writer: CallWriter) -> Iterator[Line]:
    to_come = SlicesToCome()
    threads: dict[tuple[int, int], None] = {}  # in the order of their first calls
    memory = MemoryTrack(Ledgers(writer.table, log.notes))
    causes = Causes(writer)
    for phase, call in events:
        threads.setdefault((call.pid, call.thread))
        if phase == BEGIN:
            memory.ledgers.entry(call)
            causes.begin(call)
            to_come.begin(call)
            continue
        ends = []
        for name, cause in [*becomes(call, to_come.root(call)), *causes.of(call)]:
            ends.append(arrow("f", name, call.number, call))
            yield from to_come.leave(cause.number, arrow("s", name, call.number, cause))
        yield from to_come.end(call, slice_of(call, writer), ends)
        if call.went_wrong:
            yield mark(call, writer)
        yield from memory.after(call)
    yield from to_come.rest()
    for pid, thread in threads:
        name = f"T{thread} {log.notes.threads.get(thread, {}).get('name') or ''}".rstrip()
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "args": {"name": name}}
    for (_, pid), details in log.notes.processes.items():
        program = details.get("program")
        if program and isinstance(program, str):
            rank = details.get("rank")
            yield process_name(pid, os.path.basename(program) + (f", {rank}" if rank else ""))


class SlicesToCome:
    """Calls that are not over, and what has to stand behind their slices: Perfetto takes events of one moment in the
    file's order. An arrow in front of the slice that it leaves is none to it, and what begins with a slice is not in
    it. (Perfetto, flow_tracker.cc: FlowTracker::Begin.)"""

    def __init__(self) -> None:
        self.roots: dict[int, Call] = {}  # the outermost one that each is in
        self.starts: dict[int, float] = {}
        self.arrows: dict[int, list[Line]] = {}  # that leave a call
        self.inside: dict[int, list[Line]] = {}  # what begins with it

    def begin(self, call: Call) -> None:
        parent = self.roots.get(call.parent) if call.parent is not None else None
        self.roots[call.number], self.starts[call.number] = parent or call, microseconds(call.start)

    def root(self, call: Call) -> Call:
        return self.roots.get(call.number, call)

    def leave(self, number: int, line: Line) -> Iterator[Line]:
        """Of a call that is over the slice has been written."""
        yield from hold(self.arrows, number, [line]) if number in self.roots else (line,)

    def end(self, call: Call, own: Line, ends: Iterable[Line]) -> Iterator[Line]:
        self.roots.pop(call.number, None)
        self.starts.pop(call.number, None)
        lines = [own, *ends, *self.arrows.pop(call.number, ()), *self.inside.pop(call.number, ())]
        begins_with = call.parent if call.parent is not None and self.starts.get(call.parent) == own["ts"] else None
        yield from lines if begins_with is None else hold(self.inside, begins_with, lines)

    def rest(self) -> Iterator[Line]:
        for lines in (*self.arrows.values(), *self.inside.values()):
            yield from lines


def hold(held: dict[int, list[Line]], number: int, lines: list[Line]) -> Iterator[Line]:
    """And give what is too much."""
    known = held.setdefault(number, [])
    if len(known) < MOST_HELD:
        known += lines
    else:
        yield from lines


def becomes(call: Call, root: Call) -> Iterator[tuple[str, ArrowBegin]]:
    """In the driver, of the program's call."""
    if call.layer == "driver" and root is not call:
        yield BECOMES, ArrowBegin(root.number, root.pid, root.thread, root.start)


class ArrowBegin(NamedTuple):
    """Where an arrow begins."""

    number: int
    pid: int
    thread: int
    start: float


class Causes:
    """Calls that work on a GPU may come from, the last of them; those of other programs' logs have names that we do not
    know."""

    def __init__(self, writer: CallWriter) -> None:
        self.writer = writer
        self.known: dict[int, ArrowBegin] = {}
        self.names: dict[str, bool] = {}

    def begin(self, call: Call) -> None:
        if call.name not in self.names:
            function = self.writer.table.function(call.name)
            self.names[call.name] = call.layer != GPU and function is not None and makes_work(function)
        if self.names[call.name]:
            self.known[call.number] = ArrowBegin(call.number, call.pid, call.thread, call.start)
            if len(self.known) > MOST_CAUSES:
                del self.known[next(iter(self.known))]

    def of(self, call: Call) -> Iterator[tuple[str, ArrowBegin]]:
        number = call.arguments.get("call") if call.layer == GPU else None
        if isinstance(number, int) and number in self.known:
            yield RUNS, self.known[number]


class MemoryTrack:
    """A counter of each process: bytes of device memory that are in use, where they change."""

    def __init__(self, ledgers: Ledgers) -> None:
        self.ledgers = ledgers
        self.last: dict[int, int] = {}  # by pid

    def after(self, call: Call) -> Iterator[Line]:
        self.ledgers.exit(call)
        ledger = self.ledgers.known(call)
        used = ledger.usage.on_device if ledger is not None else 0
        if used != self.last.get(call.pid, 0):
            self.last[call.pid] = used
            at = microseconds(call.last_seen)
            yield {"ph": "C", "name": MEMORY, "pid": call.pid, "ts": at, "args": {"bytes": used}}


def process_name(pid: int, name: str) -> Line:
    return {"ph": "M", "name": PROCESS_NAME, "pid": pid, "args": {"name": name}}


def slice_of(call: Call, writer: CallWriter) -> Line:
    details = {**own_slices.arguments(call), "result": call.ended or call.result, "number": call.number}
    if call.site:
        details["caller"] = writer.caller(call)
    return {"ph": "X", "name": call.name, "cat": call.layer or "call", "pid": call.pid, "tid": call.thread,
            "ts": microseconds(call.start), "dur": duration(call), "args": details,
            "cname": FAILED if call.failed else COLOURS.get(call.layer, COLOURS[""])}  # fmt: skip


def arrow(phase: str, name: str, number: int, call: Call | ArrowBegin) -> Line:
    line = {"ph": phase, "id": number, "name": name, "cat": "layers", "pid": call.pid, "tid": call.thread,
            "ts": microseconds(call.start)}  # fmt: skip
    return {**line, "bp": "e"} if phase == "f" else line


def mark(call: Call, writer: CallWriter) -> Line:
    """On the track of its thread, where it came back."""
    name = f"{call.name}: {call.ended or writer.result(call.name, call.result)}"
    return {"ph": "i", "s": "t", "name": name, "cat": "failures", "cname": FAILED, "pid": call.pid, "tid": call.thread,
            "ts": microseconds(call.last_seen)}  # fmt: skip


def duration(call: Call) -> float:
    """Of whole nanoseconds from begin to end: what is inside ends no later than what it is in."""
    return (round(call.last_seen * 1e9) - round(call.start * 1e9)) / 1e3


def microseconds(seconds: float) -> float:
    return round(seconds * 1e9) / 1e3
