"""What is concluded of a GPU's work: by kernel, by stream, by device, what waited for what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable, NamedTuple, TypeVar

from gdbcuda.calls.references import Process
from gdbcuda.log.views.gpu_work import COPY, KERNEL, RUNS, CausingCall, GpuOfLog, Work

Interval = tuple[float, float]
T = TypeVar("T")
K = TypeVar("K")
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


class GpuRows:
    def __init__(self, found: GpuOfLog) -> None:
        self.found = found
        self.causes = found.causes()
        self.runs = [one for one in found.work if one.kind in RUNS]

    def cause(self, one: Work) -> CausingCall | None:
        return self.causes.get(one.cause) if one.cause is not None else None

    def stream(self, one: Work) -> tuple[Process, str]:
        return one.process, self.found.stream(one.lane)

    def queue(self, one: Work) -> float | None:
        cause = self.cause(one)
        return None if cause is None else one.start - cause.start

    def by_name(self) -> list[NamedWork]:
        """What has run longest first."""
        groups: dict[tuple[str, str], list[Work]] = {}
        for one in self.found.work:
            groups.setdefault((one.name, one.kind), []).append(one)
        rows = []
        for (name, kind), some in groups.items():
            times = [one.seconds for one in some]
            queues = known(self.queue(one) for one in some) if kind in RUNS else []
            rows.append(NamedWork(name, kind, len(some), sum(times), max(times), median(queues),
                                  max(queues, default=-1.0), sum(one.bytes for one in some)))  # fmt: skip
        return sorted(rows, key=lambda row: (-row.run, row.name))

    def by_stream(self) -> list[StreamRow]:
        rows = []
        for ((_, pid), stream), some in grouped(self.runs, self.stream).items():
            times = union([(one.start, one.end) for one in some])
            gaps = [later[0] - earlier[1] for earlier, later in zip(times, times[1:])]
            rows.append(StreamRow(pid, stream, len(some), length(times), sum(gaps), max(gaps, default=0.0)))
        return rows

    def by_device(self) -> list[DeviceRow]:
        rows = []
        groups = grouped(self.runs, lambda one: (one.process, self.found.device(one.lane)))
        for ((_, pid), device), some in groups.items():
            times = [(one.start, one.end) for one in some]
            copies, kernels = (union([(one.start, one.end) for one in some if (one.kind == KERNEL) is is_kernel])
                               for is_kernel in (False, True))  # fmt: skip
            busy = union(times)
            rows.append(DeviceRow(pid, device, len(some), busy[-1][1] - busy[0][0], length(busy), overlap(times),
                                  length(copies) + length(kernels) - length(union(copies + kernels))))  # fmt: skip
        return rows

    def waited(self) -> list[WaitedCopy]:
        """A copy waits from the end of its call, or of what its stream did before, whichever is later."""
        found: dict[tuple[str, str], list[tuple[Work, float]]] = {}
        last: dict[tuple[Process, str], Work] = {}
        running: list[Work] = []
        for one in self.runs:
            before, cause = last.get(self.stream(one)), self.cause(one)
            last[self.stream(one)] = one
            running = [other for other in running if other.end > one.start - FOLLOWS]
            if one.kind == COPY and cause is not None:
                behind, since = self.behind(one, before, running)
                if behind and one.start > max(since, cause.start):
                    found.setdefault((one.name, behind), []).append((one, one.start - cause.start))
            running.append(one)
        rows = [WaitedCopy(name, behind, len(some), sum(one.bytes for one, _ in some), sum(time for _, time in some),
                           max(time for _, time in some)) for (name, behind), some in found.items()]  # fmt: skip
        return sorted(rows, key=lambda row: -row.waited)

    def behind(self, one: Work, before: Work | None, running: Sequence[Work]) -> tuple[str, float]:
        """What ended just before it began, and since when it could have begun."""
        cause = self.cause(one)
        asked = cause.end if cause is not None else one.start
        if before is not None and 0 <= one.start - before.end < FOLLOWS and before.end > asked:
            return f"a {before.kind} in its stream", asked
        same = [other for other in running if other.name == one.name and self.stream(other) != self.stream(one)
                and 0 <= one.start - other.end < FOLLOWS and other.end > asked]  # fmt: skip
        return ("a copy in another stream", asked) if same else ("", asked)

    def by_call(self) -> list[CallRow]:
        rows = []
        pairs = [(one, cause) for one in self.runs if (cause := self.cause(one)) is not None]
        for (name, has_hook), some in grouped(pairs, lambda pair: (pair[1].name, pair[1].has_hook)).items():
            befores = known(None if cause.driver is None else cause.driver - cause.asked for _, cause in some)
            rows.append(CallRow(name, has_hook, len(some), median(befores), max(befores, default=-1.0),
                                median([cause.end - cause.start for _, cause in some]),
                                median([one.start - cause.start for one, cause in some])))  # fmt: skip
        return sorted(rows, key=lambda row: -row.pieces)

    def early(self) -> list[float]:
        """Seconds by which work began before its call did: the clocks, or what joins them, are wrong by so much."""
        return [-queue for queue in known(self.queue(one) for one in self.runs) if queue < 0]


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    found: dict[K, list[T]] = {}
    for one in things:
        found.setdefault(key(one), []).append(one)
    return found


def known(times: Iterable[float | None]) -> list[float]:
    return [one for one in times if one is not None]


def median(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2] if times else -1.0


def union(times: list[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for start, end in sorted(times):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def length(times: Iterable[Interval]) -> float:
    return sum(end - start for start, end in times)


def overlap(times: list[Interval]) -> float:
    """When two or more of them were."""
    edges = sorted([(start, 1) for start, _ in times] + [(end, -1) for _, end in times])
    total, count, since = 0.0, 0, 0.0
    for at, step in edges:
        if count >= 2:
            total += at - since
        count, since = count + step, at
    return total
