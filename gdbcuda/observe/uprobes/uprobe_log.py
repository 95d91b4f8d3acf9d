"""A call log that is written while the kernel tells of calls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gdbcuda import __version__, api
from gdbcuda.api import vendor
from gdbcuda.calls import record
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import GAP, LOST, References
from gdbcuda.calls.sinks import Sink
from gdbcuda.log.selecting.where import Where
from gdbcuda.observe.probes import Probe
from gdbcuda.observe.process_code import Files, ProcessCode
from gdbcuda.observe.uprobes.bpftrace_events import Entered, InOrder, Left, Lost, Seen
from gdbcuda.observe.uprobes.bpftrace_text import ProbeRecord
from gdbcuda.observe.uprobes.watched_calls import NANOSECONDS, WatchedCalls

CLOCK = "monotonic, of the kernel"


def table_of(files: Iterable[str]) -> api.Table:
    """That of the runtime among them; the newest without one."""
    runtimes = (vendor.major_version(file) for file in files if vendor.api_of(file) == "runtime")
    return api.load(next(filter(None, runtimes), None))


def header(table: api.Table, program: str, epoch: int) -> dict[str, object]:
    """``monotonic``: the kernel's seconds at ts 0, by which logs of one machine can be joined."""
    found = record.header(table.cuda, table.nvml, program, __version__)
    since = (time.monotonic_ns() - epoch) / NANOSECONDS
    return {**found, "clock": CLOCK, "started": time.time() - since, "monotonic": epoch / NANOSECONDS}


class UprobeLog:
    """``where`` is asked of each call that the kernel tells, if there is one."""

    def __init__(
        self, records: Sequence[ProbeRecord], table: api.Table, sink: Sink, epoch: int, where: Where | None = None
    ) -> None:
        self.calls, self.sink, self.where = WatchedCalls(records, table, epoch), sink, where
        self.ordered, self.notes = InOrder(), References()
        hooks = {one.probe.file.name for one in records if one.probe.known.layer == "hook"}
        self.files, self.code = Files(time.time_ns(), hooks), {}  # type: Files, dict[int, ProcessCode]
        self.programs: dict[int, str] = {}  # of processes that we have started
        self.forked: dict[int, str] = {}  # by where its code is: a fork has it at the same place
        self.unseen: Iterable[str] = ()  # what the ledger must not conclude anything from
        self.recorded: Mapping[str, Any] = {}  # as the line of that name has it
        self.seen_by = ""  # what is typed to watch that too
        self.told: set[tuple[int, int]] = set()  # places and threads, by process
        self.hidden: set[int] = set()  # calls that ``where`` leaves out
        self.lost = self.written = 0

    def add(self, seen: Seen) -> None:
        if isinstance(seen, Lost):
            self.lost += seen.events
            self.say_that_calls_are_missing()
        elif isinstance(seen, Left) or (isinstance(seen, Entered) and seen.time <= self.calls.until):
            if isinstance(seen, Entered):
                self.learn(seen)  # now: the process may end soon
            for event in self.ordered.add(seen):
                self.take(event)

    def say_that_calls_are_missing(self) -> None:
        """Which, and when exactly, the kernel does not tell: one processor's events come after those of others."""
        self.calls.gap_until = self.ordered.newest + self.ordered.longest_wait
        until = self.calls.seconds(self.calls.gap_until)
        for pid in self.code:
            self.sink.note(until, GAP, {"until": until, "inferior": 0, "pid": pid})

    def code_of(self, pid: int) -> ProcessCode:
        if pid not in self.code:
            self.code[pid] = ProcessCode(pid, self.files, self.programs.get(pid, ""))
        return self.code[pid]

    def learn(self, event: Entered) -> None:
        code, probe = self.code_of(event.pid), self.calls.decoders[event.number].record.probe
        if probe.file.path not in code.loaded:
            code.note(probe.file.path, event.ip - probe.place.address)
            code.program = code.program or self.forked.get(event.code, "")
            code.note_program(event.code)
            self.forked.setdefault(event.code, code.program)

    def take(self, event: Entered | Left) -> None:
        if isinstance(event, Left):
            for call in self.calls.finish(event):
                self.exit(call)
            return
        ended, call = self.calls.begin(event, self.code_of(event.pid))
        for one in ended:
            self.exit(one)
        self.tell_of(event, call)
        if self.where is not None and not self.where.holds(call):
            self.hidden.add(call.number)
            return
        call.parent = None if call.parent in self.hidden else call.parent
        self.sink.entry(call)
        self.written += 1

    def exit(self, call: Call) -> None:
        if call.number in self.hidden:
            self.hidden.discard(call.number)
        else:
            self.sink.exit(call)

    def tell_of(self, event: Entered, call: Call) -> None:
        """What the call's line refers to, at its first time."""
        process, code = {"inferior": 0, "pid": call.pid}, self.code_of(call.pid)
        if (call.pid, 0) not in self.told:
            rank = {"rank": code.rank} if code.rank else {}
            self.note(call.start, "process", {"program": code.program or event.comm, **rank, **process}, (call.pid, 0))
            if self.recorded:
                self.note(call.start, "recorded", {**self.recorded, **process}, (call.pid, 0))
            for name in sorted(self.unseen):
                self.note(call.start, "unseen", {"name": name, "seen_by": self.seen_by, **process}, (call.pid, 0))
        if (call.pid, -call.lwp) not in self.told:
            details = {"thread": call.thread, "lwp": call.lwp, "name": event.comm, **process}
            self.note(call.start, "thread", details, (call.pid, -call.lwp))
        if (call.pid, call.caller) not in self.told:
            place = code.details(call.caller)
            if place is not None:
                self.note(call.start, "place", {**place, **process}, (call.pid, call.caller))

    def note(self, ts: float, kind: str, details: dict[str, object], key: tuple[int, int]) -> None:
        self.told.add(key)
        self.notes.add(kind, details)
        self.sink.note(ts, kind, details)

    def close(self) -> None:
        """What is left, and how much is missing."""
        for event in self.ordered.rest():
            self.take(event)
        if self.missing:
            self.sink.note(0.0, LOST, {"events": self.missing})
        self.sink.close()

    @property
    def missing(self) -> int:
        """Events that the kernel had no room for, as far as it is known."""
        return self.lost


def kernel_conditions(probes: Sequence[Probe], texts: dict[str, str]) -> dict[int, str]:
    """By the number of the probe, of texts by symbol."""
    return {one.number: texts[one.place.symbol] for one in probes if texts.get(one.place.symbol)}
