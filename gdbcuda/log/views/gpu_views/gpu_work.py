"""What a GPU did, of a log: each piece of work with its stream and the call that it comes from."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Process, References
from gdbcuda.calls.text import duration
from gdbcuda.gpu import gpu_words
from gdbcuda.gpu.causing import names_work
from gdbcuda.gpu.causing_calls import LARGEST, NOBODY, CausingCall, CausingCalls, in_order_of
from gdbcuda.gpu.gpu_calls import BESIDE, GPU

KERNEL, COPY, FILL, WAIT, OTHER = "kernel", "copy", "fill", "wait", "other"
GRAPH = gpu_words.GRAPH  # as a whole: its kernels are not told
RUNS = (KERNEL, COPY, FILL, GRAPH)
STARTS = {COPY: (gpu_words.COPY, "memcpy"), FILL: (gpu_words.FILL, "memset")}
STREAM = " stream "


class Work(NamedTuple):
    """``stream`` without the numbers of its lanes, where it has several. Times in seconds."""

    name: str
    kind: str
    process: Process
    stream: str
    start: float
    end: float
    bytes: int
    cause: CausingCall | None

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def device(self) -> str:
        return self.stream.partition(STREAM)[0]


def clocks_apart(notes: References) -> str:
    """What every view says that shows both; "" where nothing is known of it."""
    apart = notes.apart()
    said = [] if apart is None else [f"times of the GPU and of the calls are {duration(apart)} apart at most"]
    if notes.clocks_apart:
        said.append(f"times of system calls and of the others are {duration(notes.clocks_apart)} apart at least")
    return ", ".join(said)


class GpuOfLog:
    """A log may have millions of pieces: they are kept as columns of numbers, and made as they are asked for."""

    def __init__(self, notes: References) -> None:
        self.notes = notes
        self.calls = CausingCalls()
        self.names: dict[tuple[str, str], int] = {}  # and kinds
        self.lanes: dict[tuple[Process, int], int] = {}
        self.starts, self.ends = array("d"), array("d")
        self.of_name, self.of_lane = array("I"), array("I")
        self.sizes, self.causes = array("q"), array("q")  # the number of the call, then where it is among the calls

    def __len__(self) -> int:
        return len(self.starts)

    def feed(self, events: Iterable[Event]) -> GpuOfLog:
        causes: dict[str, bool] = {}
        for phase, call in events:
            if phase == BEGIN:
                continue
            if call.layer == GPU:
                self.add(call)
                continue
            is_cause = causes.get(call.name)
            if is_cause is None:
                is_cause = causes[call.name] = names_work(call.name)
            if is_cause:
                self.calls.add(call)
        self.calls.close()
        self.causes = array("q", map(self.calls.find, self.causes))
        return self

    def add(self, call: Call) -> None:
        self.starts.append(call.start)
        self.ends.append(call.last_seen)
        self.of_name.append(self.names.setdefault((whole_name(call), kind(call)), len(self.names)))
        self.of_lane.append(self.lanes.setdefault((call.process, call.thread), len(self.lanes)))
        self.sizes.append(number(call.arguments.get("bytes"), 0))
        self.causes.append(number(call.arguments.get("call"), NOBODY))

    def work(self, kinds: Collection[str] = ()) -> Iterator[Work]:
        """By time."""
        names, calls = [*self.names], self.calls
        lanes = [(process, self.stream(lane)) for process, lane in self.lanes]
        for at in self.by_time:
            name = names[self.of_name[at]]
            if not kinds or name[1] in kinds:
                yield Work(*name, *lanes[self.of_lane[at]], self.starts[at], self.ends[at], self.sizes[at],
                           calls[self.causes[at]] if self.causes[at] != NOBODY else None)  # fmt: skip

    @cached_property
    def by_time(self) -> array[int]:
        return in_order_of(self.starts)

    def stream(self, lane: int) -> str:
        return str(self.notes.threads.get(lane, {}).get("name") or f"T{lane}").partition(BESIDE)[0]


def number(found: Any, otherwise: int) -> int:
    return found if isinstance(found, int) and abs(found) < LARGEST else otherwise


def kind(call: Call) -> str:
    """Of a record of ours, of nsys, or of PyTorch's profiler."""
    if isinstance(call.arguments.get("grid"), list):
        return KERNEL
    if call.name == GRAPH:
        return GRAPH
    name = call.name.lower()
    found = next((one for one, starts in STARTS.items() if name.startswith(starts)), OTHER)
    return WAIT if found == OTHER and call.name in gpu_words.WAITS.values() else found


def whole_name(call: Call) -> str:
    found: Any = call.arguments.get("kernel")
    return found if isinstance(found, str) else call.name
