"""One traced process: the calls of its rings, and what they refer to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from gdbcuda import api
from gdbcuda.calls.reader import Log
from gdbcuda.calls.record import DIGITS, Call
from gdbcuda.calls.references import BEFORE, CONFINED, GAP, LOST
from gdbcuda.cpython import own_code
from gdbcuda.cpython.thread_frames import PythonFrame
from gdbcuda.gpu.joined_calls import JoinedCall, place_of
from gdbcuda.rings import ring, ring_calls, ring_words
from gdbcuda.rings.ring import Record
from gdbcuda.rings.ring_calls import ThreadCalls
from gdbcuda.rings.ring_functions import RecordedFunction
from gdbcuda.rings.ring_layout import A_WRITTEN_ENTRY, A_WRITTEN_SLOT, IS_PYTHON, NO_SLOT_LEFT
from gdbcuda.rings.traced.thread_file import ThreadFile
from gdbcuda.rings.traced.trace_files import BoundFunction, Progress, TracedProcess
from gdbcuda.rings.traced.trace_filter import TraceFilter, memory_names
from gdbcuda.rings.traced.trace_places import CodeOfProcess, handed_out
from gdbcuda.rings.traced.trace_python import PythonStacks
from gdbcuda.text import sentences

OVERWRITTEN = "an older call that has been overwritten: gdbcuda trace --last N keeps more, --all all of them"
TOO_FAST = "a call that came too fast to be kept: gdbcuda trace --last N gives --all more time"
FULL = "a call that was overwritten while --all could not write (a full disk, or a limit)"
LITTLE_ROOM = "a call that has been overwritten: its thread had room for {} calls, where {} were wanted"
WITHOUT = ("{} makes system calls past libc, by one of which the program may confine itself: what pointers lead to, "
           "and calls of threads that began later or were forked, are not recorded")
PAST_PLT = ("{} was compiled with -fno-plt, or takes addresses of functions, and the kernel lets nobody write into "
            "/proc/self/mem: not all that it calls is recorded")
IN_SLOTS = "could not be recorded, which it has written into slots that others call through"
WHY_PASSED_BY = {
    A_WRITTEN_SLOT: f"{{}} of {{}} {IN_SLOTS}: {{}}",
    A_WRITTEN_ENTRY: "the beginning of {} of {} has been overwritten: what is called instead could not be recorded: {}",
    NO_SLOT_LEFT: "{} of {} could not be recorded: there were too many: {}",
}
OFTEN = 1 << 10  # calls between two looks at the clock
FOR_EVER = 1e9  # seconds of CLOCK_MONOTONIC that no machine reaches
ONE_SECOND = 10**9  # ticks: whatever a second is


class ProcessReading:
    """``number`` tells processes apart that have had the same pid. ``epoch``: the second of CLOCK_MONOTONIC that the
    log's times begin with; ``rate``: nanoseconds a tick."""

    def __init__(
        self, process: TracedProcess, number: int, table: api.Table, log: Log, asked: TraceFilter | None = None,
        epoch: float = 0.0, rate: float = 1.0, pythons: PythonStacks | None = None,
    ) -> None:  # fmt: skip
        self.epoch, self.rate, self.pythons = epoch, rate, pythons or PythonStacks(b"")
        self.scripts: dict[PythonFrame, int] = {}
        self.process, self.number, self.table, self.log, self.asked = process, number, table, log, asked
        self.places = CodeOfProcess(process)
        self.known = self.known_functions()
        self.answers: set[int] = set()  # that were handed out
        self.own_backs: set[int] = set()  # return addresses in the recorder
        self.gap_until = 0.0  # seconds of CLOCK_MONOTONIC: before that, calls are missing
        self.key = {"inferior": number, "pid": process.pid}
        self.joined: dict[int, JoinedCall] = {}  # to work of a GPU, by place
        self.arriving: dict[int, JoinedCall] = {}  # of these, by id() of calls that are about to be told
        program = self.places.program
        rank = {"rank": process.rank} if process.rank else {}
        self.note("process", program=program.file if program else "", **rank)
        for name in sorted(memory_names(table)) if asked is not None else ():
            self.note("unseen", name=name, seen_by="gdbcuda trace without --filter")
        if asked is not None:
            self.note("recorded", names=[], some=True)

    def note(self, kind: str, **details: Any) -> None:
        self.log.note(kind, {**details, **self.key})

    def look_through(self, threads: Iterable[ThreadFile], told: Progress) -> None:
        """What has to be known before the first call is told: who calls, and what is missing."""
        seen, some = PlacesSeen(self.places), False
        for one in threads:
            one.look_through(seen, told)  # the other half of the work is to make calls of them
            some = some or bool(one.count)
            self.say_what_is_missing(one)
        self.own_backs = set(filter(self.places.is_recorders, seen.found))
        for details in self.places.details(seen.found - self.own_backs):
            self.note("place", **details)
        self.say_what_was_missed()
        if self.process.threads_without_file:
            self.log.problems[without_room(self.process)] += 1
        if some:
            self.log.problems.update(WITHOUT.format(name) for name in sorted(self.process.past_libc))
            self.log.problems.update(PAST_PLT.format(name) for name in sorted(self.process.past_plt))
        self.log.problems.update(what_passed_by(self.process))

    def thread_calls(self, one: ThreadFile) -> ThreadCalls:
        found = ring.Ring(0, one.lwp, self.process.pid, with_rate(one.clock, self.rate), gaps=one.gaps,
                          records=one.places, own=self.own_backs)  # fmt: skip
        return ThreadCalls(found, self.epoch)

    def begun(self, one: ThreadFile, told: Progress, problems: Counter[str]) -> Iterator[tuple[Record, Call]]:
        """A thread's calls, as they begin: of one that has returned the end is known by the time the next one comes."""
        calls = self.thread_calls(one)
        for record in counted(self.wanted(one.records()), one, told):
            if record.function not in self.known:
                problems["a call of a function whose name is not in the folder"] += 1
                continue
            call, _ = calls.begin(record, self.known, self.table)
            calls.forget_ended()
            yield record, call

    def calls(self, one: ThreadFile, told: Progress) -> Iterator[Call]:
        for record, call in self.begun(one, told, self.log.problems):
            self.complete(call, record)
            yield call

    def looked_at(self, one: ThreadFile, told: Progress) -> Iterator[tuple[int, Call]]:
        """The same calls with their positions, before they are told: what they show is said then."""
        undecided = self.asked.undecided if self.asked is not None else 0
        try:
            for record, call in self.begun(one, told, Counter()):
                call.pid = self.process.pid
                yield record.position, call
        finally:
            if self.asked is not None:
                self.asked.undecided = undecided

    def complete(self, call: Call, record: Record) -> None:
        call.inferior, call.pid = self.number, self.process.pid
        call.stack = self.places.stack(call.stack)
        self.add_python(call)
        found = self.joined.get(place_of(call.lwp, record.position)) if self.joined else None
        if found is not None:
            call.depth += found.inside
            self.arriving[id(call)] = found

    def begins(self, call: Call) -> None:
        """It has its number."""
        found = self.arriving.pop(id(call), None) if self.arriving else None
        if found is not None:
            found.number = call.number

    def tell_answers(self, call: Call) -> None:
        """Of a call that is over: which functions it has handed out."""
        for address in handed_out(call, self.table) - self.answers:
            self.answers.add(address)
            self.note("function", address=address, **self.places.function(address))

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

    def wanted(self, records: Iterator[Record]) -> Iterator[Record]:
        """Of what the process has not asked itself."""
        asked, done = self.asked, self.process.filtered
        if asked is None:
            return records
        return (one for one in records if one.function in done or one.function not in self.known
                or asked.wants(self.known[one.function], one))  # fmt: skip

    def known_functions(self) -> dict[int, RecordedFunction]:
        found = {}
        for number, one in self.process.functions.items():
            function = self.table.function(one.name) or api.load_all().function(one.name)
            file = os.path.basename(one.object.file) if one.object is not None else ""
            if function is not None:
                found[number] = RecordedFunction(function, self.layer(function, one), file)
        return found

    def layer(self, function: api.Function, one: BoundFunction) -> str:
        found = self.places.layer(one.object)
        return "runtime" if found == "app" and function.api == "runtime" else found  # linked into it

    def say_what_was_missed(self) -> None:
        """One of these calls may have taken back any block."""
        if self.process.missed:
            self.note(LOST, name=CONFINED, calls=self.process.missed)
            self.gap_until = FOR_EVER

    def say_where_calls_are_missing(self) -> None:
        if self.gap_until:
            self.note(GAP, until=min(max(round(self.gap_until - self.epoch, DIGITS), 0.0), FOR_EVER))

    def say_what_is_missing(self, one: ThreadFile) -> None:
        if one.lost:
            self.note("unseen", name=BEFORE)
            self.log.problems[why_lost(one)] += one.lost
        if one.whole_from is not None:
            found = self.thread_calls(one).ring
            self.gap_until = max(self.gap_until, ring_calls.seconds(found, one.whole_from))


class PlacesSeen:
    """The return addresses of a process's calls, and of their callers as far as they are code. Called with those of
    each."""

    def __init__(self, places: CodeOfProcess) -> None:
        self.places = places
        self.found: set[int] = set()

    def __call__(self, back: int, callers: ring_words.Words) -> None:
        self.found.add(back)
        for at in callers:
            if at not in self.found and not at & IS_PYTHON:
                self.found.update(self.places.stack([back, *(one for one in callers if not one & IS_PYTHON)]))
                return


def counted(records: Iterator[Record], one: ThreadFile, told: Progress) -> Iterator[Record]:
    each = one.size // 2 * OFTEN // (one.count or 1)
    for at, record in enumerate(records):
        if at % OFTEN == 0:
            told(each)
        yield record


def with_rate(clock: ring_words.Words, rate: float) -> ring_words.Words:
    ticks, ns = clock[:2]
    return ticks, ns, ticks + ONE_SECOND, ns + round(ONE_SECOND * rate)


def why_lost(one: ThreadFile) -> str:
    if one.met_full_disk:
        return FULL
    if one.places < one.wanted:
        return LITTLE_ROOM.format(one.places, one.wanted)
    return TOO_FAST if one.is_kept else OVERWRITTEN


def what_passed_by(process: TracedProcess) -> Iterator[str]:
    for (kind, library), names in sorted(process.passed_by.items()):
        said = sentences.counted(len(names), "function"), library, sentences.some(sorted(names))
        yield WHY_PASSED_BY[kind].format(*said)


def without_room(process: TracedProcess) -> str:
    """Where not even the numbers of all threads are in its file some may be of children, which have none."""
    threads, count = sorted(process.without_file), process.threads_without_file
    if count == len(threads) == 1:
        return f"thread {threads[0]} of process {process.pid}: no room for its calls"
    if count == len(threads):
        return f"{count} threads of process {process.pid} ({threads[0]} to {threads[-1]}): no room for their calls"
    whose = f"{sentences.counted(count, 'thread')} of process {process.pid} or its children"
    return f"{whose}: no room for {'its' if count == 1 else 'their'} calls, or no way to the folder"
