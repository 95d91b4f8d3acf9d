"""Records of the GPU as calls of the layer `gpu`, each in the lane of its stream, joined to the call they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Callable

from gdbcuda.calls.record import DIGITS, Call
from gdbcuda.data_classes import dataclass, field
from gdbcuda.gpu import gpu_words
from gdbcuda.gpu.calls_around import CallsAround
from gdbcuda.gpu.gpu_clock import GpuClock
from gdbcuda.gpu.gpu_file import GpuFile, GpuRecord, SeenCall
from gdbcuda.gpu.joined_calls import UNNUMBERED, JoinedCall
from gdbcuda.text import cplusplus
from gdbcuda.text.demangling import demangled

GPU = "gpu"
BESIDE = " ("  # behind the name of a stream, and then a number: another lane of it
LONGEST_NAME = 120
NANOSECONDS = 1e9
LARGEST = 1 << 63


class GpuWork:
    """``at``: which one it is in the file. ``lane``: its stream, or what does one thing after the other. ``cause``:
    the call that it comes from, the recorder's or one that only CUPTI has seen. `GpuReading.call` makes the rest."""

    __slots__ = ("at", "cause", "end", "lane", "start")

    def __init__(self, at: int, start: float, end: float, lane: str, cause: JoinedCall | Call | None) -> None:
        self.at, self.start, self.end, self.lane, self.cause = at, start, max(start, end), lane, cause


@dataclass
class GpuReading:
    """Of one process. ``by_position``: the recorder's calls, as far as they may be joined; ``by_thread``: those of a
    thread, all; ``epoch``: the second of CLOCK_MONOTONIC that their times begin with; ``without_time``: work of
    which CUPTI does not know when it was."""

    file: GpuFile
    by_position: Mapping[int, JoinedCall]
    by_thread: Callable[[int], CallsAround]
    epoch: float = 0.0
    clock: GpuClock = field(init=False)
    seen: dict[int, JoinedCall | Call] = field(default_factory=dict)
    lanes: dict[str, str] = field(default_factory=dict)
    without_time: int = 0

    def __post_init__(self) -> None:
        self.clock = GpuClock(self.file.looks)

    def work(self) -> Iterator[GpuWork]:
        """And the calls that nobody but CUPTI has seen, as their causes."""
        for at, one in enumerate(self.file.work):
            start, end = one["START"], one["END"]
            if not (0 < start <= end < LARGEST and self.clock.knows(start)):
                self.without_time += 1
                continue
            cause = self.cause(one["CORRELATION"])
            name = lane(one, cause)
            yield GpuWork(at, self.seconds(start), self.seconds(end), self.lanes.setdefault(name, name), cause)

    def call(self, work: GpuWork) -> Call:
        name, arguments = described(self.file.work[work.at], self.file)
        call = made(name, GPU, work.start, work.end)
        call.pid, call.arguments = self.file.pid, arguments
        return call

    def seconds(self, gpu: int) -> float:
        return round(self.clock.monotonic(gpu) / NANOSECONDS - self.epoch, DIGITS)

    def cause(self, correlation: int) -> JoinedCall | Call | None:
        told = self.file.causes.get(correlation)
        found = self.by_position.get(told) if told is not None else None
        if found is not None:
            return found.cause
        seen = self.file.seen_call(correlation)
        return self.of_seen(correlation, seen) if seen is not None else None

    def of_seen(self, correlation: int, one: SeenCall) -> JoinedCall | Call:
        """The recorder's call around it; where there is none, it is a call of its own, around those that are in it."""
        if correlation not in self.seen:
            start, end = self.seconds(one.start), self.seconds(one.end)
            calls = self.by_thread(one.thread)
            found = calls.called(public_name(one), start) or calls.around(start, end)
            self.seen[correlation] = found.cause if found is not None else self.of_cupti(one, start, end)
        return self.seen[correlation]

    def of_cupti(self, one: SeenCall, start: float, end: float) -> Call:
        calls = self.by_thread(one.thread)
        found = made(public_name(one), "runtime" if one.is_runtime else "driver", *calls.fitted(start, end))
        found.lwp, found.pid, found.status, found.result = one.thread, self.file.pid, one.result, one.result
        for call in calls.inside(start, end):
            call.inside += 1
        return found

    def threads_without(self) -> set[int]:
        """Of calls that CUPTI has seen and ``by_position`` does not have: work of theirs is joined by time."""
        found = set()
        for correlation in {one["CORRELATION"] for one in self.file.work}:
            told = self.file.causes.get(correlation)
            seen = self.file.seen_call(correlation) if told is None or told not in self.by_position else None
            found.update([seen.thread] if seen is not None else [])
        return found


def public_name(one: SeenCall) -> str:
    """CUPTI says of which version of the runtime: cudaMemcpyAsync_v3020."""
    return one.name.rpartition("_v")[0] if one.is_runtime and "_v" in one.name else one.name


def side_by_side(works: list[GpuWork]) -> None:
    """By time. What runs while another runs in the same stream (nodes of a graph do) gets a lane beside it."""
    ends: dict[str, list[float]] = {}
    works.sort(key=lambda one: one.start)
    for one in works:
        at = free_lane(ends.setdefault(one.lane, []), one.start, one.end)
        one.lane += f"{BESIDE}{at + 1})" if at else ""


def free_lane(ends: list[float], start: float, over: float) -> int:
    """Which of them has nothing then. ``ends``: when the last of each is over, for what comes by time."""
    at = next((at for at, end in enumerate(ends) if end <= start), len(ends))
    ends[at : at + 1] = [over]
    return at


def made(name: str, layer: str, start: float, end: float) -> Call:
    call = Call(UNNUMBERED, name, start)
    call.layer, call.end, call.ended = layer, max(start, end), ""
    return call


def lane(one: GpuRecord, cause: JoinedCall | Call | None) -> str:
    if one.kind == "WAIT":
        return f"GPU waits of thread {cause.lwp}" if cause is not None else "GPU waits"
    if one.kind in ("MEMORY", "POOL"):
        return f"GPU {one['DEVICE']} memory pools"
    if one.kind == "UNIFIED":
        return "GPU unified memory"
    return f"GPU {one['DEVICE']} stream {one['STREAM']}"


def described(one: GpuRecord, file: GpuFile) -> tuple[str, dict[str, Any]]:
    """Its name, and what is told beside."""
    name, found = DESCRIPTIONS[one.kind](one, file)
    if one.kind in ("KERNEL", "COPY", "FILL") and (one["NODE"] or one["GRAPH"]):
        found.update(graph=one["GRAPH"], node=one["NODE"])
    return name, found


def kernel(one: GpuRecord, file: GpuFile) -> tuple[str, dict[str, Any]]:
    whole = demangled(file.name(one["NAME"]))
    name = cplusplus.shortened(whole, LONGEST_NAME)
    found: dict[str, Any] = {"grid": one.three("GRID"), "block": one.three("BLOCK"), "registers": one["REGISTERS"],
                             "shared": one["DYNAMIC_SHARED"]}  # fmt: skip
    found.update({name: value for name, value in (("static", one["STATIC_SHARED"]), ("local", one["LOCAL"])) if value})
    return name, {**found, "kernel": whole} if name != whole else found


def copy(one: GpuRecord, file: GpuFile) -> tuple[str, dict[str, Any]]:
    name = f"{gpu_words.COPY} {gpu_words.COPIES.get(one['WAY'], '?')}"
    found: dict[str, Any] = {"bytes": one["BYTES"], "from": memory(one["FROM"]), "to": memory(one["TO"])}
    if one["IS_BETWEEN"]:
        found.update(source=one["SOURCE"], target=one["TARGET"])
    return name, found if one["IS_ASYNC"] else {**found, "sync": True}


def fill(one: GpuRecord, file: GpuFile) -> tuple[str, dict[str, Any]]:
    return gpu_words.FILL, {"bytes": one["BYTES"], "value": one["VALUE"], "memory": memory(one["MEMORY"])}


def wait(one: GpuRecord, file: GpuFile) -> tuple[str, dict[str, Any]]:
    is_of_stream = one["TYPE"] in (2, 3)
    return gpu_words.WAITS.get(one["TYPE"], "wait"), {"stream": one["STREAM"]} if is_of_stream else {}


def pooled(one: GpuRecord, file: GpuFile) -> tuple[str, dict[str, Any]]:
    found = {"address": hex(one["ADDRESS"]), "bytes": one["BYTES"], "pool": hex(one["POOL"]), "size": one["POOL_SIZE"],
             "used": one["POOL_USED"], "stream": one["STREAM"]}  # fmt: skip
    return gpu_words.POOLED.get(one["OPERATION"], "memory of a pool"), found


def pool(one: GpuRecord, file: GpuFile) -> tuple[str, dict[str, Any]]:
    found = {"pool": hex(one["POOL"]), "size": one["POOL_SIZE"], "used": one["POOL_USED"]}
    return gpu_words.POOLS.get(one["OPERATION"], "pool"), found


def unified(one: GpuRecord, file: GpuFile) -> tuple[str, dict[str, Any]]:
    found: dict[str, Any] = {"value": one["VALUE"], "address": hex(one["ADDRESS"])}
    return gpu_words.UNIFIED.get(one["COUNTER"], "unified memory"), found


def memory(number: int) -> str:
    return gpu_words.MEMORIES.get(number, "?")


DESCRIPTIONS: dict[str, Callable[[GpuRecord, GpuFile], tuple[str, dict[str, Any]]]] = {
    "KERNEL": kernel, "COPY": copy, "FILL": fill, "WAIT": wait, "MEMORY": pooled, "POOL": pool, "UNIFIED": unified,
}  # fmt: skip
