"""One traced process: the calls of its rings, and what they refer to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Callable

from gdbcuda import api
from gdbcuda.calls.reader import Log
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import BEFORE, CONFINED, GAP, LOST
from gdbcuda.cpython import own_code
from gdbcuda.cpython.stacks import PythonFrame
from gdbcuda.gpu.gpu_calls import POSITIONS
from gdbcuda.rings import ring, ring_calls, ring_words, trace_files
from gdbcuda.rings.ring import Record
from gdbcuda.rings.ring_file import RingFile
from gdbcuda.rings.ring_functions import RecordedFunction
from gdbcuda.rings.trace_files import Progress, TracedProcess
from gdbcuda.rings.trace_filter import TraceFilter, memory_names
from gdbcuda.rings.trace_places import CodeOfProcess, handed_out
from gdbcuda.rings.trace_python import PythonStacks

OVERWRITTEN = "an older call that has been overwritten: gdbcuda trace --last N keeps more, --all all of them"
TOO_FAST = "a call that came too fast to be kept: gdbcuda trace --last N gives --all more time"
WITHOUT = ("{} makes system calls past libc, by one of which the program may confine itself: what pointers lead to, "
           "and calls of threads that began later or were forked, are not recorded")
PAST_PLT = ("{} was compiled with -fno-plt, or takes addresses of functions, and the kernel lets nobody write into "
            "/proc/self/mem: not all that it calls is recorded")
AS_KEPT = 60  # half of the bytes that a call has in a file, for a bar
FOR_EVER = 1e9  # seconds of CLOCK_MONOTONIC that no machine reaches
ONE_SECOND = 10**9  # ticks: whatever a second is


class ProcessReading:
    """``number`` tells processes apart that have had the same pid."""

    def __init__(
        self, process: TracedProcess, number: int, table: api.Table, log: Log, asked: TraceFilter | None = None,
        told: Progress = trace_files.untold, pythons: PythonStacks | None = None,
    ) -> None:
        self.told, self.pythons = told, pythons or PythonStacks(b"")
        self.scripts: dict[PythonFrame, int] = {}
        self.process, self.number, self.table, self.log, self.asked = process, number, table, log, asked
        self.places = CodeOfProcess(process)
        self.gap_until = 0.0  # seconds of CLOCK_MONOTONIC: before that, calls are missing
        self.key = {"inferior": number, "pid": process.pid}
        self.by_position: dict[tuple[int, int], Call] = {}  # by thread and the lower half of its place in the ring
        program = self.places.program
        self.note("process", program=program.file if program else "")
        for name in sorted(memory_names(table)) if asked is not None else ():
            self.note("unseen", name=name, seen_by="gdbcuda trace without --filter")
        if asked is not None:
            self.note("recorded", names=[], some=True)

    def note(self, kind: str, **details: Any) -> None:
        self.log.note(kind, {**details, **self.key})

    def calls(self, rings: Iterable[RingFile], rate: float, number: int) -> list[Call]:
        known, made = self.known(), []  # type: dict[int, RecordedFunction], list[Call]
        for one in rings:
            clock = with_rate(one.clock, rate)
            found = ring.Ring(0, one.lwp, self.process.pid, clock, gaps=one.gaps, records=one.places)
            wanted = self.wanted(one.records, known)
            new = ring_calls.calls(found, counted(wanted, self.told), known, self.table, number + len(made))
            made += new
            positions = (record.position & POSITIONS for record in wanted if record.function in known)
            self.by_position.update(((one.lwp, position), call) for position, call in zip(positions, new))
            self.say_what_is_missing(one, known)
            if one.whole_from is not None:
                self.gap_until = max(self.gap_until, ring_calls.seconds(found, one.whole_from))
        for call in made:
            call.inferior, call.pid = self.number, self.process.pid
            call.stack = self.places.stack(call.stack)
            self.add_python(call)
        for details in self.places.details({at for call in made for at in (call.caller, *call.stack)}):
            self.note("place", **details)
        for address in handed_out(made, self.table):
            self.note("function", address=address, **self.places.function(address))
        self.say_what_was_missed()
        if self.process.without_file:
            self.log.problems[without_room(self.process)] += 1
        if made:
            self.log.problems.update(WITHOUT.format(name) for name in sorted(self.process.past_libc))
            self.log.problems.update(PAST_PLT.format(name) for name in sorted(self.process.past_plt))
        return made

    def add_python(self, call: Call) -> None:
        """Behind what is known of native callers, whose place among the lines of Python nobody has noted."""
        if not call.python:
            return
        frames = self.pythons.frames(call.python)
        own = own_code.site(frames)
        call.python = self.script(own) if own is not None else 0
        call.stack = [*(call.stack or [call.caller]), *map(self.script, frames)]

    def script(self, frame: PythonFrame) -> int:
        if frame not in self.scripts:
            self.scripts[frame] = own_code.NO_ADDRESS + len(self.scripts)
            self.note("place", **own_code.as_place(frame, self.scripts[frame]))
        return self.scripts[frame]

    def wanted(self, records: list[Record], known: dict[int, RecordedFunction]) -> list[Record]:
        """Of what the process has not asked itself."""
        asked, done = self.asked, self.process.filtered
        if asked is None:
            return records
        return [one for one in records if one.function in done or one.function not in known
                or asked.wants(known[one.function], one)]  # fmt: skip

    def known(self) -> dict[int, RecordedFunction]:
        found = {}
        for number, one in self.process.functions.items():
            function = self.table.function(one.name) or api.load_all().function(one.name)
            file = os.path.basename(one.object.file) if one.object is not None else ""
            if function is not None:
                found[number] = RecordedFunction(function, self.layer(function, one), file)
        return found

    def layer(self, function: api.Function, one: trace_files.BoundFunction) -> str:
        found = self.places.layer(one.object)
        return "runtime" if found == "app" and function.api == "runtime" else found  # linked into it

    def say_what_was_missed(self) -> None:
        """One of these calls may have taken back any block."""
        if self.process.missed:
            self.note(LOST, name=CONFINED, calls=self.process.missed)
            self.gap_until = FOR_EVER

    def say_where_calls_are_missing(self, since_beginning: Callable[[float], float]) -> None:
        if self.gap_until:
            self.note(GAP, until=min(max(since_beginning(self.gap_until), 0.0), FOR_EVER))

    def say_what_is_missing(self, one: RingFile, known: dict[int, RecordedFunction]) -> None:
        if one.lost or one.is_cut:
            self.note("unseen", name=BEFORE)
        if one.lost and not one.is_cut:  # which is told of the file
            self.log.problems[TOO_FAST if one.is_kept else OVERWRITTEN] += one.lost
        nameless = sum(record.function not in known for record in one.records)
        if nameless:
            self.log.problems["a call of a function whose name is not in the folder"] += nameless


def counted(records: list[Record], told: Progress) -> Iterator[Record]:
    for place, one in enumerate(records):
        if place % trace_files.OFTEN == 0:
            told(min(trace_files.OFTEN, len(records) - place) * AS_KEPT)
        yield one


def with_rate(clock: ring_words.Words, rate: float) -> ring_words.Words:
    ticks, ns = clock[:2]
    return ticks, ns, ticks + ONE_SECOND, ns + round(ONE_SECOND * rate)


def without_room(process: TracedProcess) -> str:
    threads = sorted(process.without_file)
    if len(threads) == 1:
        return f"thread {threads[0]} of process {process.pid}: no room for its calls"
    return f"{len(threads)} threads of process {process.pid} ({threads[0]} to {threads[-1]}): no room for their calls"
