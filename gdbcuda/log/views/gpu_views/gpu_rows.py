"""What is concluded of a GPU's work: by kernel, by stream, by device, what waited for what."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from gdbcuda.calls.references import Process
from gdbcuda.gpu.causing_calls import CausingCall
from gdbcuda.log.views.gpu_views.gpu_work import COPY, KERNEL, RUNS, GpuOfLog, Work

Interval = tuple[float, float]
FOLLOWS = 10e-6  # seconds between two pieces of work of which the second has waited for the first


class NamedWork(NamedTuple):
    """All of one name. Times in seconds; ``queue`` from the begin of the call to the start on the GPU, -1 where the
    calls are not known."""

    name: str
    kind: str
    pieces: int
    run: float
    longest: float
    queue: float
    longest_queue: float
    bytes: int


class StreamRow(NamedTuple):
    """``idle``: between its first and its last piece of work, ``gap`` the longest of it."""

    pid: int
    stream: str
    pieces: int
    busy: float
    idle: float
    gap: float


class DeviceRow(NamedTuple):
    """``overlap``: when two or more pieces ran, ``beside``: a copy beside a kernel."""

    pid: int
    device: str
    pieces: int
    span: float
    busy: float
    overlap: float
    beside: float


class WaitedCopy(NamedTuple):
    """Copies of one kind that had been asked for and did not start: for what they waited, and how long."""

    name: str
    behind: str
    pieces: int
    bytes: int
    waited: float
    longest: float


class CallRow(NamedTuple):
    """``before``: from the begin of the outermost call to that of the driver's; ``call``: how long the call took."""

    function: str
    has_hook: bool
    pieces: int
    before: float
    longest_before: float
    call: float
    queue: float


class RunTimes:
    """Begins and ends of some pieces of work, by begin."""

    def __init__(self) -> None:
        self.starts, self.ends = array("d"), array("d")

    def add(self, one: Work) -> None:
        self.starts.append(one.start)
        self.ends.append(one.end)

    def __iter__(self) -> Iterator[Interval]:
        return zip(self.starts, self.ends)


class GpuRows:
    """Each asks for all work again, which nobody has room for at once."""

    def __init__(self, found: GpuOfLog) -> None:
        self.found = found

    def runs(self) -> Iterator[Work]:
        return self.found.work(RUNS)

    @cached_property
    def kinds(self) -> Counter[str]:
        return Counter(one.kind for one in self.found.work())

    @cached_property
    def processes(self) -> set[Process]:
        return {one.process for one in self.runs()}

    @cached_property
    def without_call(self) -> int:
        return sum(one.cause is None for one in self.runs())

    def by_name(self) -> list[NamedWork]:
        """What has run longest first."""
        queues: dict[tuple[str, str], array[float]] = {}
        sums: dict[tuple[str, str], list[float]] = {}  # pieces, seconds, the longest, bytes
        for one in self.found.work():
            key = one.name, one.kind
            row, known = sums.setdefault(key, [0, 0.0, 0.0, 0]), queues.setdefault(key, array("d"))
            row[:] = row[0] + 1, row[1] + one.seconds, max(row[2], one.seconds), row[3] + one.bytes
            if one.cause is not None and one.kind in RUNS:
                known.append(one.start - one.cause.start)
        rows = [NamedWork(*key, int(pieces), run, longest, median(queues[key]), max(queues[key], default=-1.0),
                          int(size)) for key, (pieces, run, longest, size) in sums.items()]  # fmt: skip
        return sorted(rows, key=lambda row: (-row.run, row.name))

    def by_stream(self) -> list[StreamRow]:
        groups: dict[tuple[int, str], RunTimes] = {}
        for one in self.runs():
            groups.setdefault((one.process[1], one.stream), RunTimes()).add(one)
        return [of_stream(*key, some) for key, some in groups.items()]

    def by_device(self) -> list[DeviceRow]:
        groups: dict[tuple[Process, str], tuple[RunTimes, RunTimes, RunTimes]] = {}
        for one in self.runs():
            times = groups.setdefault((one.process, one.device), (RunTimes(), RunTimes(), RunTimes()))
            times[0].add(one)
            times[1 if one.kind == KERNEL else 2].add(one)
        return [of_device(pid, device, *times) for ((_, pid), device), times in groups.items()]

    def waited(self) -> list[WaitedCopy]:
        """A copy waits from the end of its call, or of what its stream did before, whichever is later."""
        found: dict[tuple[str, str], list[float]] = {}  # pieces, bytes, seconds, the longest
        last: dict[tuple[Process, str], Work] = {}
        running: list[Work] = []
        for one in self.runs():
            before = last.get((one.process, one.stream))
            last[one.process, one.stream] = one
            running = [other for other in running if other.end > one.start - FOLLOWS]
            if one.kind == COPY and one.cause is not None:
                behind, since = self.behind(one, one.cause, before, running)
                if behind and one.start > max(since, one.cause.start):
                    row, time = found.setdefault((one.name, behind), [0, 0, 0.0, 0.0]), one.start - one.cause.start
                    row[:] = row[0] + 1, row[1] + one.bytes, row[2] + time, max(row[3], time)
            running.append(one)
        rows = [WaitedCopy(*key, int(pieces), int(size), waited, longest)
                for key, (pieces, size, waited, longest) in found.items()]  # fmt: skip
        return sorted(rows, key=lambda row: -row.waited)

    def behind(self, one: Work, cause: CausingCall, before: Work | None, running: Sequence[Work]) -> tuple[str, float]:
        """What ended just before it began, and since when it could have begun."""
        asked = cause.end
        if before is not None and 0 <= one.start - before.end < FOLLOWS and before.end > asked:
            return f"a {before.kind} in its stream", asked
        here = one.process, one.stream
        same = any(other.name == one.name and (other.process, other.stream) != here
                   and 0 <= one.start - other.end < FOLLOWS and other.end > asked for other in running)  # fmt: skip
        return ("a copy in another stream", asked) if same else ("", asked)

    def by_call(self) -> list[CallRow]:
        groups: dict[tuple[str, bool], tuple[array[float], array[float], array[float]]] = {}
        for one in self.runs():
            if (cause := one.cause) is not None:
                key = cause.name, cause.has_hook
                befores, calls, queues = groups.setdefault(key, (array("d"), array("d"), array("d")))
                calls.append(cause.end - cause.start)
                queues.append(one.start - cause.start)
                if cause.driver is not None:
                    befores.append(cause.driver - cause.asked)
        rows = [CallRow(*key, len(calls), median(befores), max(befores, default=-1.0), median(calls), median(queues))
                for key, (befores, calls, queues) in groups.items()]  # fmt: skip
        return sorted(rows, key=lambda row: -row.pieces)

    @cached_property
    def early(self) -> array[float]:
        """Seconds by which work began before its call did: the clocks, or what joins them, are wrong by so much."""
        queues = (one.start - one.cause.start for one in self.runs() if one.cause is not None)
        return array("d", [-queue for queue in queues if queue < 0])


def of_stream(pid: int, stream: str, times: RunTimes) -> StreamRow:
    busy, idle, gap, last = 0.0, 0.0, 0.0, None
    for start, end in union(times):
        busy += end - start
        if last is not None:
            idle, gap = idle + start - last, max(gap, start - last)
        last = end
    return StreamRow(pid, stream, len(times.starts), busy, idle, gap)


def of_device(pid: int, device: str, times: RunTimes, kernels: RunTimes, others: RunTimes) -> DeviceRow:
    busy, first, last = 0.0, times.starts[0], max(times.ends)
    for start, end in union(times):
        busy += end - start
    both = length(union(kernels)) + length(union(others)) - length(union(times))
    return DeviceRow(pid, device, len(times.starts), last - first, busy, overlap(times), both)


def median(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2] if times else -1.0


def union(times: Iterable[Interval]) -> Iterator[Interval]:
    """``times``: by begin."""
    since, until = 0.0, None
    for start, end in times:
        if until is not None and start <= until:
            until = max(until, end)
            continue
        if until is not None:
            yield since, until
        since, until = start, end
    if until is not None:
        yield since, until


def length(times: Iterable[Interval]) -> float:
    return sum(end - start for start, end in times)


def overlap(times: Iterable[Interval]) -> float:
    """When two or more of them were. ``times``: by begin."""
    total, since, ends = 0.0, 0.0, []  # type: float, float, list[float]
    for start, end in times:
        while ends and ends[0] <= start:
            total, since = total + (ends[0] - since if len(ends) > 1 else 0.0), ends[0]
            heapq.heappop(ends)
        total, since = total + (start - since if len(ends) > 1 else 0.0), start
        heapq.heappush(ends, end)
    while len(ends) > 1:
        total, since = total + ends[0] - since, ends[0]
        heapq.heappop(ends)
    return total
