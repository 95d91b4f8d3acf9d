"""Records of the GPU as calls of the layer `gpu`, each in the lane of its stream, joined to the call they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from gdbcuda.calls.record import DIGITS, Call
from gdbcuda.gpu import gpu_words
from gdbcuda.gpu.calls_around import CallsAround
from gdbcuda.gpu.causing import names_work
from gdbcuda.gpu.gpu_clock import GpuClock
from gdbcuda.gpu.gpu_file import GpuFile, GpuRecord, SeenCall
from gdbcuda.text import cplusplus
from gdbcuda.text.demangling import demangled

GPU = "gpu"
BESIDE = " ("  # behind the name of a stream, and then a number: another lane of it
POSITIONS = 0xFFFFFFFF  # of a position in a ring its cause has the lower half
LONGEST_NAME = 120
NANOSECONDS = 1e9
LARGEST = 1 << 63
UNNUMBERED = -1


@dataclass
class GpuWork:
    """``lane``: its stream, or what else does one thing after the other. ``cause``: the call that it comes from."""

    call: Call
    lane: str
    cause: Call | None = None


@dataclass
class GpuReading:
    """Of one process. ``by_position``: the recorder's calls, by thread and the lower half of the position in its ring;
    ``epoch``: the second of CLOCK_MONOTONIC that their times begin with; ``without_time``: work of
    which CUPTI does not know when it was."""

    file: GpuFile
    by_position: Mapping[tuple[int, int], Call]
    by_thread: Callable[[int], CallsAround]
    epoch: float = 0.0
    clock: GpuClock = field(init=False)
    seen: dict[int, Call] = field(default_factory=dict)
    around: dict[int, Call] = field(default_factory=dict)  # by id() of a recorded call: the one that CUPTI has seen
    without_time: int = 0

    def __post_init__(self) -> None:
        self.clock = GpuClock(self.file.looks)
        self.by_number = {call.number: call for call in self.by_position.values()}

    def work(self) -> Iterator[GpuWork]:
        """And the calls that nobody but CUPTI has seen, as their causes."""
        for one in self.file.work:
            start, end = one["START"], one["END"]
            if not (0 < start <= end < LARGEST and self.clock.knows(start)):
                self.without_time += 1
                continue
            name, arguments = described(one, self.file)
            call = made(name, GPU, self.seconds(start), self.seconds(end))
            call.pid, call.arguments = self.file.pid, arguments
            cause = self.cause(one["CORRELATION"])
            yield GpuWork(call, lane(one, cause), cause)

    def seconds(self, gpu: int) -> float:
        return round(self.clock.monotonic(gpu) / NANOSECONDS - self.epoch, DIGITS)

    def cause(self, correlation: int) -> Call | None:
        told = self.file.causes.get(correlation)
        found = self.by_position.get((told.thread, told.position)) if told is not None else None
        if found is None and correlation in self.file.calls:
            found = self.of_seen(correlation, self.file.calls[correlation])
        return self.outermost(found) if found is not None else None

    def outermost(self, call: Call) -> Call:
        """That of the program: it asked for the work, and what is below it shows who took how long."""
        found = call
        while call.parent in self.by_number:
            call = self.by_number[call.parent]
            found = call if names_work(call.name) else found
        return found

    def of_seen(self, correlation: int, one: SeenCall) -> Call:
        """The recorder's call around it; where there is none, it is a call of its own, around those that are in it."""
        if correlation not in self.seen:
            start, end = self.seconds(one.start), self.seconds(one.end)
            calls = self.by_thread(one.thread)
            found = calls.called(public_name(one), start) or calls.around(start, end)
            if found is None:
                found = self.of_cupti(one, *calls.fitted(start, end))
                self.around.update({id(call): found for call in calls.inside(start, end)})
            self.seen[correlation] = found
        return self.seen[correlation]

    def of_cupti(self, one: SeenCall, start: float, end: float) -> Call:
        call = made(public_name(one), "runtime" if one.is_runtime else "driver", start, end)
        call.lwp, call.pid, call.status, call.result = one.thread, self.file.pid, one.result, one.result
        return call


def public_name(one: SeenCall) -> str:
    """CUPTI says of which version of the runtime: cudaMemcpyAsync_v3020."""
    return one.name.rpartition("_v")[0] if one.is_runtime and "_v" in one.name else one.name


def side_by_side(works: list[GpuWork]) -> None:
    """What runs while another runs in the same stream (nodes of a graph do) gets a lane beside it."""
    ends: dict[str, list[float]] = {}
    for one in sorted(works, key=lambda one: one.call.start):
        at = free_lane(ends.setdefault(one.lane, []), one.call)
        one.lane += f"{BESIDE}{at + 1})" if at else ""


def free_lane(ends: list[float], call: Call) -> int:
    """Which of them has nothing then. ``ends``: when the last of each is over, for calls that come by time."""
    at = next((at for at, end in enumerate(ends) if end <= call.start), len(ends))
    ends[at : at + 1] = [call.last_seen]
    return at


def made(name: str, layer: str, start: float, end: float) -> Call:
    call = Call(UNNUMBERED, name, start)
    call.layer, call.end, call.ended = layer, max(start, end), ""
    return call


def lane(one: GpuRecord, cause: Call | None) -> str:
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
