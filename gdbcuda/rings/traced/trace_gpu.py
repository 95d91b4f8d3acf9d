"""What the GPU did, in a folder of `gdbcuda trace --gpu`: the work of each process, joined to its recorded calls.

The calls are read twice: first those are kept in few words that work may come from; then they are told, and the work in
between, and nothing is held but what is open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Callable

from gdbcuda.calls.reader import BEGIN, Event, Log
from gdbcuda.calls.record import Call
from gdbcuda.calls.sinks import TimedEvent, as_nested
from gdbcuda.gpu.calls_around import CallsAround
from gdbcuda.gpu.gpu_calls import GpuReading, GpuWork, side_by_side
from gdbcuda.gpu.gpu_file import GpuFile
from gdbcuda.gpu.joined_calls import UNNUMBERED, JoinedCall, joined
from gdbcuda.rings.traced.process_reading import ProcessReading
from gdbcuda.rings.traced.thread_file import ThreadFile
from gdbcuda.rings.traced.thread_names import ThreadNames
from gdbcuda.rings.traced.trace_files import Progress, untold

Threads = Sequence[ThreadFile]
Lane = tuple[int, int, str]  # the number of the process (0: of none that is there), its pid, the lane's name


class FolderGpu:
    """``lanes``: work by time. ``seen``: calls that only CUPTI has seen, of a thread of a process (0: of none that is
    there). ``causes``: by id() of work that is about to be told."""

    def __init__(self, readings: Mapping[int, ProcessReading], threads: Mapping[int, Threads], log: Log) -> None:
        self.readings, self.threads, self.log = readings, threads, log
        self.lanes: dict[Lane, list[tuple[GpuReading, GpuWork]]] = {}
        self.seen: dict[tuple[int, int], list[Call]] = {}
        self.causes: dict[int, JoinedCall | Call] = {}

    def read(self, file: GpuFile, epoch: float, told: Progress) -> None:
        self.log.problems.update(file.problems())
        number = self.process_of(file)
        positions = self.joined(number, told)
        reading = GpuReading(file, positions, lambda lwp: NOBODY, epoch)
        without = reading.threads_without()
        if without:  # few programs have such
            positions.update(self.joined(number, untold, without))
            reading.by_thread = by_thread(positions.values(), without)
        works = list(reading.work())
        self.add(number, reading, works)
        note(self.log, reading, number)
        if number:
            causes = {id(one.cause) for one in works}
            needed = {place: one for place, one in positions.items() if one.inside or id(one) in causes}
            self.readings[number].joined.update(needed)

    def process_of(self, file: GpuFile) -> int:
        """The program that ran in the process at that time."""
        own = {number: one.process.monotonic for number, one in self.readings.items() if one.process.pid == file.pid}
        before = {number: begun for number, begun in own.items() if begun <= file.monotonic}
        return max(before or own, key=own.__getitem__, default=0)

    def joined(self, number: int, told: Progress, whole: set[int] | None = None) -> dict[int, JoinedCall]:
        """Calls that make work; of ``whole`` threads all."""
        found: dict[int, JoinedCall] = {}
        for one in self.threads.get(number, ()):
            if whole is None or one.lwp in whole:
                found.update(joined(self.readings[number].looked_at(one, told), whole is not None))
        return found

    def add(self, number: int, reading: GpuReading, works: list[GpuWork]) -> None:
        side_by_side(works)
        for work in works:
            self.lanes.setdefault((number, reading.file.pid, work.lane), []).append((reading, work))
        for call in {id(one): one for one in reading.seen.values() if isinstance(one, Call)}.values():
            call.inferior = number
            self.seen.setdefault((number, call.lwp), []).append(call)

    def name(self, names: ThreadNames) -> None:
        """Behind the threads the lanes of what no thread does, each by its first call."""
        firsts = []
        for number, threads in self.threads.items():
            calls = (next(self.readings[number].looked_at(one, untold), None) for one in threads)
            firsts += [(call.start, number, call.pid, call.lwp) for _, call in filter(None, calls)]
        firsts += [(call.start, number, call.pid, lwp) for (number, lwp), some in self.seen.items() for call in some]
        for _, number, pid, lwp in sorted(firsts):
            names.number(number, pid, lwp)
        for (number, pid, lane), _ in sorted(self.lanes.items(), key=lambda one: one[1][0][1].start):
            names.number(number, pid, 0, lane)

    def streams(self, names: ThreadNames, told: Progress) -> list[Iterator[TimedEvent]]:
        """Of each thread and each lane, in the order of time."""
        found = []
        for number, threads in self.threads.items():
            for one in threads:
                seen = in_each_other(self.seen.pop((number, one.lwp), []))
                found.append(as_nested(with_seen(self.readings[number].calls(one, told), seen)))
        found += [as_nested(in_each_other(some)) for some in self.seen.values()]
        for (number, pid, lane), works in self.lanes.items():
            thread = names.number(number, pid, 0, lane)
            found.append(as_nested(self.calls(number, thread, works)))
        return found

    def calls(self, number: int, thread: int, works: Iterable[tuple[GpuReading, GpuWork]]) -> Iterator[Call]:
        for reading, work in works:
            call = reading.call(work)
            call.inferior, call.thread = number, thread
            if work.cause is not None:
                self.causes[id(call)] = work.cause
            yield call

    def with_causes(self, events: Iterable[Event]) -> Iterator[Event]:
        """Each work knows the number of its call. Where clocks have it begin first, it waits for that."""
        waiting: deque[Event] = deque()
        unknown: list[tuple[Call, JoinedCall | Call]] = []
        for event in events:
            cause = self.causes.pop(id(event[1]), None) if event[0] == BEGIN else None
            if cause is not None:
                unknown.append((event[1], cause))
            if unknown:
                unknown = [one for one in unknown if not is_told(*one)]
            waiting.append(event)
            if not unknown:
                yield from waiting
                waiting.clear()
        yield from waiting


def is_told(work: Call, cause: JoinedCall | Call) -> bool:
    if cause.number != UNNUMBERED:
        work.arguments["call"] = cause.number
    return cause.number != UNNUMBERED


def with_seen(calls: Iterator[Call], seen: Iterable[Call]) -> Iterator[Call]:
    """The recorder's of a thread, and those that only CUPTI has seen; none crosses another."""
    rest = deque(seen)
    for call in calls:
        while rest and rest[0].start <= call.start:
            yield rest.popleft()
        yield call
    yield from rest


def in_each_other(calls: list[Call]) -> list[Call]:
    """By time, and as deep as they lie in each other."""
    around: list[Call] = []
    calls.sort(key=lambda call: (call.start, -call.last_seen))
    for call in calls:
        while around and around[-1].last_seen <= call.start:
            around.pop()
        call.depth = len(around)
        around.append(call)
    return calls


def note(log: Log, reading: GpuReading, number: int) -> None:
    if reading.without_time:
        log.problems["work of the GPU of which CUPTI does not know when it was"] += reading.without_time
    if not reading.clock.is_known and not reading.file.remarks:
        log.problems["the GPU's clock was not compared: its times are CUPTI's"] += 1
    if reading.clock.strange:
        log.problems["the GPU's clock was changed while it was recorded: work since then is not told"] += 1
    log.note("gpu", {"uncertainty": reading.clock.uncertainty, "devices": {str(key): name for key, name in
                     reading.file.devices.items()}, "inferior": number, "pid": reading.file.pid})  # fmt: skip


def by_thread(calls: Iterable[JoinedCall], threads: set[int]) -> Callable[[int], CallsAround]:
    found: dict[int, list[JoinedCall]] = {}
    for call in calls:
        if call.lwp in threads:
            found.setdefault(call.lwp, []).append(call)
    around = {lwp: CallsAround(some) for lwp, some in found.items()}
    return lambda lwp: around.get(lwp, NOBODY)


NOBODY = CallsAround()
