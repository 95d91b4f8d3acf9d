"""What the GPU did, in a folder of `gdbcuda trace --gpu`: the work of each process, joined to its recorded calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable, Protocol

from gdbcuda.calls.reader import Log
from gdbcuda.calls.record import Call
from gdbcuda.gpu.calls_around import CallsAround
from gdbcuda.gpu.gpu_calls import GpuReading, GpuWork, side_by_side
from gdbcuda.gpu.gpu_file import GpuFile
from gdbcuda.rings.traced.trace_files import TracedProcess

Positions = dict[tuple[int, int], Call]


class ProcessWithCalls(Protocol):
    """``by_position``: as `gpu_calls.GpuReading` has it."""

    process: TracedProcess
    number: int
    by_position: Positions | None


class FolderGpu:
    """``epoch``: the second that the times of calls begin with. ``work``: in no order. ``calls``: that work, and
    calls that only CUPTI has seen."""

    def __init__(
        self, files: Iterable[GpuFile], processes: Sequence[ProcessWithCalls], log: Log, epoch: float = 0.0
    ) -> None:
        self.epoch = epoch
        self.work: list[GpuWork] = []
        self.calls: list[Call] = []
        self.around: dict[int, Call] = {}  # by id() of a recorded call: one that only CUPTI has seen
        for one in files:
            log.problems.update(one.problems())
            self.read(one, of_file(one, processes), log)
        self.lanes = {id(one.call): one.lane for one in self.work}

    def read(self, file: GpuFile, of: ProcessWithCalls | None, log: Log) -> None:
        positions = (of.by_position if of is not None else None) or {}
        reading = GpuReading(file, positions, by_thread(positions.values()), self.epoch)
        work = list(reading.work())
        side_by_side(work)
        new = [*(one.call for one in work), *{id(one): one for one in reading.seen.values()}.values()]
        known = {id(one) for one in positions.values()}
        added = [call for call in new if id(call) not in known]
        for call in added:
            call.inferior = of.number if of is not None else 0
        self.around.update(reading.around)
        self.work += work
        self.calls += added
        note(log, reading, of.number if of is not None else 0)

    def tell_causes(self) -> None:
        """Once the calls have their numbers."""
        for one in self.work:
            if one.cause is not None:
                one.call.arguments["call"] = one.cause.number


def note(log: Log, reading: GpuReading, number: int) -> None:
    if reading.without_time:
        log.problems["work of the GPU of which CUPTI does not know when it was"] += reading.without_time
    if not reading.clock.is_known and not reading.file.remarks:
        log.problems["the GPU's clock was not compared: its times are CUPTI's"] += 1
    if reading.clock.strange:
        log.problems["the GPU's clock was changed while it was recorded: work since then is not told"] += 1
    log.note("gpu", {"uncertainty": reading.clock.uncertainty, "devices": {str(key): name for key, name in
                     reading.file.devices.items()}, "inferior": number, "pid": reading.file.pid})  # fmt: skip


def of_file(file: GpuFile, processes: Sequence[ProcessWithCalls]) -> ProcessWithCalls | None:
    """The program that ran in the process at that time."""
    own = [one for one in processes if one.process.pid == file.pid]
    before = [one for one in own if one.process.monotonic <= file.monotonic]
    return max(before or own, key=lambda one: one.process.monotonic, default=None)


def by_thread(calls: Iterable[Call]) -> Callable[[int], CallsAround]:
    found: dict[int, list[Call]] = {}
    for call in calls:
        found.setdefault(call.lwp, []).append(call)
    threads = {lwp: CallsAround(some) for lwp, some in found.items()}
    return lambda lwp: threads.get(lwp, NOBODY)


NOBODY = CallsAround()
