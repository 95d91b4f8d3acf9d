"""What `gdbcuda trace` has left in a folder, read as a log: the calls of all its processes in the order of time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable

from gdbcuda import __version__, api
from gdbcuda.api import vendor
from gdbcuda.calls.reader import BEGIN, END, Event, Log
from gdbcuda.calls.record import DIGITS, FORMAT, Call
from gdbcuda.calls.references import BEFORE
from gdbcuda.calls.sinks import in_order
from gdbcuda.errors import UserError
from gdbcuda.files.reading import open_source
from gdbcuda.gpu.gpu_calls import POSITIONS
from gdbcuda.gpu.gpu_file import gpu_file
from gdbcuda.rings import ring, ring_calls, trace_files
from gdbcuda.rings.ring import Record
from gdbcuda.rings.ring_calls import NANOSECONDS
from gdbcuda.rings.ring_functions import RecordedFunction
from gdbcuda.rings.trace_files import Progress, RingFile, TracedProcess
from gdbcuda.rings.trace_filter import TraceFilter
from gdbcuda.rings.trace_gpu import FolderGpu
from gdbcuda.rings.trace_places import CodeOfProcess, handed_out

PROCESS = re.compile(r"(\d+-\d+)\.process")
OF_GPU = re.compile(r"(\d+-\d+)\.gpu")
RING, KEPT = (re.compile(rf"((\d+-\d+)-\d+)\.{ending}") for ending in ("ring", "calls"))
CONDITION, FILTERS = "condition", "filters"  # what --filter is, and what the processes read of it
ONE_SECOND = 10**9  # ticks: whatever a second is
FASTEST, SLOWEST = 0.05, 50.0  # nanoseconds that a tick may last
OVERWRITTEN = "an older call that has been overwritten: gdbcuda trace --last N keeps more, --all all of them"
TOO_FAST = "a call that came too fast to be kept: gdbcuda trace --last N gives --all more time"
WITHOUT = ("{} makes system calls past libc, by one of which the program may confine itself: what pointers lead to, "
           "and calls of threads that began later or were forked, are not recorded")
AS_KEPT = 60  # half of the bytes that a call has in a file, for a bar


class TraceFolder:
    """``header`` as that of a log; `UserError` where the folder has nothing of a trace."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.names = listed(path)
        self.problems: list[str] = []
        self.processes = self.read_each(PROCESS, trace_files.process)
        if {*self.names} <= {CONDITION, FILTERS}:
            raise UserError(f"nothing was recorded into {path}: no call was made of a function that is recorded",
                            page="trace")  # fmt: skip
        if not self.processes:
            raise UserError(f"cannot read {path}: it is a folder without what gdbcuda trace writes"
                            f"{' (' + self.problems[0] + ')' if self.problems else ''}")  # fmt: skip
        self.gpu_files = [one for _, one in self.read_each(OF_GPU, gpu_file)]
        of_threads = [name for name in self.names if any(one.fullmatch(name) for one in (RING, KEPT, OF_GPU))]
        self.size = sum(os.path.getsize(os.path.join(path, name)) for name in of_threads)
        self.began: int = min(one.monotonic for _, one in self.processes)
        self.header = self.made_header()

    def made_header(self) -> dict[str, Any]:
        first = min((one for _, one in self.processes), key=lambda one: one.monotonic)
        files = [one.file for _, process in self.processes for one in process.objects]
        runtimes = [vendor.major_version(file) for file in files if vendor.api_of(file) == "runtime"]
        table = api.load(next(filter(None, runtimes), None))
        program = first.objects[0].file if first.objects else ""
        return {"gdbcuda_log": FORMAT, "phase": "H", "version": __version__, "clock": "monotonic, of the program",
                "started": first.realtime / NANOSECONDS, "program": program, "cuda": table.cuda, "nvml": table.nvml,
                "objects": []}  # fmt: skip

    def read_each(self, names: re.Pattern[str], read: Callable[[bytes], Any]) -> list[tuple[str, Any]]:
        """(what its name begins with, what is in the file) of each that can be read."""
        found = []
        for name in self.names:
            matched = names.fullmatch(name)
            if matched is None:
                continue
            try:
                found.append((matched[1], read(contents(os.path.join(self.path, name)))))
            except UserError as problem:
                self.problems.append(f"{name}: {str(problem).rpartition(': ')[2]}")
        return found

    def events(self, log: Log, progress: Progress | None = None) -> Iterator[Event]:
        """Begins and ends in the order of time, then those of calls that had not returned."""
        log.add_header(self.header)
        table = api.load(self.header["cuda"], self.header["nvml"])
        told = progress or trace_files.untold
        rings = self.rings(lambda count: told(count // 2))  # the other half of the work is to make calls of them
        without = sorted(set(rings) - {name for name, _ in self.processes})
        log.problems.update([*self.problems, *(f"a ring without its {name}.process" for name in without)])
        rate = nanoseconds_a_tick([one.clock for some in rings.values() for one in some])
        asked = self.filter(table)
        calls: list[Call] = []
        readings = []
        for number, (name, process) in enumerate(self.processes, 1):
            readings.append(ProcessReading(process, number, table, log, asked, told))
            calls += readings[-1].calls(rings.get(name, []), rate, len(calls))
        gpu = FolderGpu(self.gpu_files, readings, log)
        calls += gpu.calls
        if asked is not None and asked.undecided:
            log.problems["a call that may not be wanted: what --filter looks at was not recorded"] += asked.undecided
        for one in calls:
            one.start = self.since_beginning(one.start)
            one.end = None if one.end is None else self.since_beginning(one.end)
        renumber(calls, gpu.around)
        gpu.tell_causes()
        name_threads(calls, log, gpu.lanes)
        told(self.size)
        for is_end, call in in_order(calls):
            yield (END if is_end else BEGIN), call
        yield from ((END, call) for call in reversed(calls) if call.end is None)

    def filter(self, table: api.Table) -> TraceFilter | None:
        if CONDITION not in self.names:
            return None
        text = contents(os.path.join(self.path, CONDITION)).decode("utf-8", "replace")
        return TraceFilter(text, table)

    def rings(self, told: Progress) -> dict[str, list[RingFile]]:
        """By process. What is taken out of a ring is kept first, so that is read last."""
        threads = dict(self.read_each(RING, lambda raw: trace_files.ring_file(raw, told)))
        for thread, one in self.read_each(KEPT, lambda raw: trace_files.kept_file(raw, told)):
            threads[thread] = threads[thread].joined(one) if thread in threads else one
        found: dict[str, list[RingFile]] = {}
        for thread, one in threads.items():
            found.setdefault(thread.rpartition("-")[0], []).append(one)
        return found

    def since_beginning(self, seconds: float) -> float:
        return round(seconds - self.began / NANOSECONDS, DIGITS)


class ProcessReading:
    """``number`` tells processes apart that have had the same pid."""

    def __init__(
        self, process: TracedProcess, number: int, table: api.Table, log: Log, asked: TraceFilter | None = None,
        told: Progress = trace_files.untold,
    ) -> None:
        self.told = told
        self.process, self.number, self.table, self.log, self.asked = process, number, table, log, asked
        self.places = CodeOfProcess(process)
        self.key = {"inferior": number, "pid": process.pid}
        self.by_position: dict[tuple[int, int], Call] = {}  # by thread and the lower half of its place in the ring
        program = self.places.program
        self.note("process", program=program.file if program else "")

    def note(self, kind: str, **details: Any) -> None:
        self.log.note(kind, {**details, **self.key})

    def calls(self, rings: Iterable[RingFile], rate: float, number: int) -> list[Call]:
        known, made = self.known(), []  # type: dict[int, RecordedFunction], list[Call]
        for one in rings:
            found = ring.Ring(0, one.lwp, self.process.pid, with_rate(one.clock, rate))
            wanted = self.wanted(one.records, known)
            new = ring_calls.calls(found, counted(wanted, self.told), known, self.table, number + len(made))
            made += new
            positions = (record.position & POSITIONS for record in wanted if record.function in known)
            self.by_position.update(((one.lwp, position), call) for position, call in zip(positions, new))
            self.say_what_is_missing(one, known)
        for call in made:
            call.inferior, call.pid = self.number, self.process.pid
            call.stack = self.places.stack(call.stack)
        for details in self.places.details({at for call in made for at in (call.caller, *call.stack)}):
            self.note("place", **details)
        for address in handed_out(made, self.table):
            self.note("function", address=address, **self.places.function(address))
        for thread in self.process.without_file:
            self.log.problems[f"thread {thread} of process {self.process.pid}: no room for its calls"] += 1
        if made:
            self.log.problems.update(WITHOUT.format(name) for name in sorted(self.process.past_libc))
        return made

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
            function = self.table.functions.get(one.name) or api.load().functions.get(one.name)
            file = os.path.basename(one.object.file) if one.object is not None else ""
            if function is not None:
                found[number] = RecordedFunction(function, self.layer(function, one), file)
        return found

    def layer(self, function: api.Function, one: trace_files.BoundFunction) -> str:
        found = self.places.layer(one.object)
        return "runtime" if found == "app" and function.api == "runtime" else found  # linked into it

    def say_what_is_missing(self, one: RingFile, known: dict[int, RecordedFunction]) -> None:
        if one.lost:
            self.note("unseen", name=BEFORE)
            self.log.problems[TOO_FAST if one.is_kept else OVERWRITTEN] += one.lost
        nameless = sum(record.function not in known for record in one.records)
        if nameless:
            self.log.problems["a call of a function whose name is not in the folder"] += nameless


def counted(records: list[Record], told: Progress) -> Iterator[Record]:
    for place, one in enumerate(records):
        if place % trace_files.OFTEN == 0:
            told(min(trace_files.OFTEN, len(records) - place) * AS_KEPT)
        yield one


def listed(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError as problem:
        raise UserError(f"cannot read {path}: {problem.strerror}") from None


def contents(path: str) -> bytes:
    source = open_source(path)
    return source.read(0, source.size, "it")


def nanoseconds_a_tick(clocks: Iterable[ring.Words]) -> float:
    """By the longest time between two looks at the clock: all processors of a machine count alike."""
    longest, rate = 0, 1.0
    for ticks, ns, later_ticks, later_ns in clocks:
        found = (later_ns - ns) / (later_ticks - ticks) if later_ticks > ticks else 0.0
        if later_ns - ns > longest and FASTEST < found < SLOWEST:
            longest, rate = later_ns - ns, found
    return rate


def with_rate(clock: ring.Words, rate: float) -> ring.Words:
    ticks, ns = clock[:2]
    return ticks, ns, ticks + ONE_SECOND, ns + round(ONE_SECOND * rate)


def renumber(calls: list[Call], around: Mapping[int, Call]) -> None:
    """By time; what called what stays, but that ``around`` has calls (by their id()) in others."""
    made = list(calls)
    calls.sort(key=lambda call: call.start)
    parents = {id(call): made[call.parent] for call in calls if call.parent is not None}
    parents.update({key: one for key, one in around.items() if key not in parents})
    for number, call in enumerate(calls):
        call.number = number
    for call in calls:
        call.parent = parents[id(call)].number if id(call) in parents else None
        call.depth += id(call) in around


def name_threads(calls: list[Call], log: Log, lanes: Mapping[int, str]) -> None:
    """From 1 in the order of their first calls; behind them the ``lanes`` of what no thread does."""
    numbers: dict[tuple[int, int | str], int] = {}
    for call in sorted(calls, key=lambda call: id(call) in lanes):
        key = call.inferior, lanes.get(id(call), call.lwp)
        if key not in numbers:
            numbers[key] = len(numbers) + 1
            details = {"name": lanes[id(call)]} if id(call) in lanes else {"lwp": call.lwp}
            log.note("thread", {"thread": numbers[key], **details, "inferior": call.inferior, "pid": call.pid})
        call.thread = numbers[key]
