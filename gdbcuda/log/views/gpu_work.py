"""What a GPU did, of a log: each piece of work with its stream and the call that it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Process, References
from gdbcuda.calls.text import duration
from gdbcuda.gpu import gpu_words
from gdbcuda.gpu.causing import names_work
from gdbcuda.gpu.gpu_calls import BESIDE, GPU

KERNEL, COPY, FILL, WAIT, OTHER = "kernel", "copy", "fill", "wait", "other"
GRAPH = gpu_words.GRAPH  # as a whole: its kernels are not told
RUNS = (KERNEL, COPY, FILL, GRAPH)
STARTS = {COPY: (gpu_words.COPY, "memcpy"), FILL: (gpu_words.FILL, "memset")}
STREAM = " stream "


@dataclass
class CausingCall:
    """Times in seconds. ``asked``: when the outermost call around it began; ``driver``: when the driver was called."""

    name: str
    start: float
    end: float
    asked: float
    driver: float | None
    has_hook: bool


@dataclass
class Work:
    name: str
    kind: str
    process: Process
    lane: int
    start: float
    end: float
    bytes: int
    cause: int | None

    @property
    def seconds(self) -> float:
        return self.end - self.start


def clocks_apart(notes: References) -> str:
    """What every view says that shows both; "" where nothing is known of it."""
    apart = notes.apart()
    said = [] if apart is None else [f"times of the GPU and of the calls are {duration(apart)} apart at most"]
    if notes.clocks_apart:
        said.append(f"times of system calls and of the others are {duration(notes.clocks_apart)} apart at least")
    return ", ".join(said)


class GpuOfLog:
    """``work``: by time. ``stream``: the name of a lane."""

    def __init__(self, notes: References) -> None:
        self.notes = notes
        self.work: list[Work] = []
        self.calls: dict[int, Call] = {}  # those that make work, and whose end is known
        self.others = 0

    def feed(self, events: Iterable[Event]) -> GpuOfLog:
        causes: dict[str, bool] = {}
        for phase, call in events:
            if phase == BEGIN:
                continue
            if call.layer == GPU:
                self.add(call)
                continue
            self.others += 1
            is_cause = causes.get(call.name)
            if is_cause is None:
                is_cause = causes[call.name] = names_work(call.name)
            if is_cause:
                self.calls[call.number] = call
        self.work.sort(key=lambda one: one.start)
        return self

    def add(self, call: Call) -> None:
        cause, size = call.arguments.get("call"), call.arguments.get("bytes")
        self.work.append(Work(
            whole_name(call), kind(call), call.process, call.thread, call.start, call.last_seen,
            size if isinstance(size, int) else 0, cause if isinstance(cause, int) else None,
        ))  # fmt: skip

    def stream(self, lane: int) -> str:
        """Of a stream that has several lanes, without their numbers."""
        return str(self.notes.threads.get(lane, {}).get("name") or f"T{lane}").partition(BESIDE)[0]

    def device(self, lane: int) -> str:
        return self.stream(lane).partition(STREAM)[0]

    def causes(self) -> dict[int, CausingCall]:
        """By number, of all calls that work comes from."""
        inside: dict[int, list[Call]] = {}
        for call in self.calls.values():
            if call.parent is not None:
                inside.setdefault(call.parent, []).append(call)
        wanted = {one.cause for one in self.work if one.cause is not None}
        return {number: self.causing(self.calls[number], inside) for number in wanted if number in self.calls}

    def causing(self, call: Call, inside: dict[int, list[Call]]) -> CausingCall:
        around, below = self.around(call), [call]
        for one in below:  # which grows
            below += inside.get(one.number, [])
        driver = min((one.start for one in below if one.layer == "driver"), default=None)
        has_hook = any(one.layer == "hook" for one in (*around, *below))
        return CausingCall(call.name, call.start, call.last_seen, around[-1].start, driver, has_hook)

    def around(self, call: Call) -> list[Call]:
        """Itself, and each that the one before is in."""
        found = [call]
        while found[-1].parent is not None and found[-1].parent in self.calls:
            found.append(self.calls[found[-1].parent])
        return found


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
