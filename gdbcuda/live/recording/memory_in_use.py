"""How much memory is in use, asked now of each layer: the only place that calls API functions in the program.

Only for a user who asks for it. The selected thread alone runs meanwhile; what it is in the middle of may hold a lock
that the call waits for, then Ctrl-C ends the call. The answers go into spare zero bytes behind a .bss, which get
their zeros back. (gdb manual: "Calling Program Functions".)
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import NamedTuple

import gdb

from gdbcuda import decode
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.live.preloading import written_environment
from gdbcuda.live.recording.base import planting
from gdbcuda.live.threads import standstill

DRIVER, DEVICE = "cuMemGetInfo_v2", "cuCtxGetDevice"
HANDLE, NVML = "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMemoryInfo"
ANSWER_BYTES = 64
_answers: PerInferior[list[int]] = PerInferior(list)  # address of the spare bytes


class MemoryInUse(NamedTuple):
    """``total`` and ``used`` in bytes, or what went wrong; ``device``: its number, -1 where it is not known."""

    spot: planting.PlantingSpot
    total: int = 0
    used: int = 0
    error: str = ""
    device: int = 0


def ask() -> list[MemoryInUse]:
    """The selected thread's context's device, and NVML's device 0."""
    if not process.is_alive() or process.connection() == "core":
        raise UserError("there is no process that could be asked: compare it while the program stands somewhere")
    process.require_stopped()
    found = [
        spot for linkage in this_snapshot.objects().all
        for spot in planting.spots(linkage, {DRIVER, DEVICE, HANDLE, NVML}, ())
    ]  # fmt: skip
    with undisturbed():
        current = next((ask_device(spot) for spot in found if spot.symbol == DEVICE and spot.layer == "driver"), -1)
        driver = [ask_driver(spot)._replace(device=current) for spot in found if spot.symbol == DRIVER]
        handles = {spot.file: spot for spot in found if spot.symbol == HANDLE}
        is_loaded = any(spot.layer == "driver" for spot in handles.values())  # else a hook would load it now
        nvml = [ask_nvml(handles[spot.file], spot) for spot in found
                if is_loaded and spot.symbol == NVML and spot.file in handles]  # fmt: skip
    return driver + nvml


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """No other thread runs, the recorder looks away, and a signal in the function brings the program back here."""
    from gdbcuda.live.recording import call_log

    recorder = call_log.SESSION.recorder
    with contextlib.ExitStack() as settings:
        settings.enter_context(standstill.other_threads_held())
        settings.enter_context(gdb_cli.setting("unwindonsignal", "on"))
        try:
            if recorder is not None:
                recorder.is_paused = True
            yield
        finally:
            if recorder is not None:
                recorder.is_paused = False
            if _answers():
                written_environment.write(_answers()[0], bytes(ANSWER_BYTES))


def answer_place() -> int:
    if not _answers():
        _answers().append(written_environment.store(bytes(ANSWER_BYTES), keep=True))
    return _answers()[0]


def call(spot: planting.PlantingSpot, *arguments: int) -> str:
    """Calls the function; the name of the error that it returns, or ""."""
    types = ", ".join(["unsigned long"] * len(arguments))
    given = ", ".join(f"{one:#x}" for one in arguments)
    try:
        status = int(gdb_cli.evaluated(f"((unsigned int (*)({types})) {spot.address:#x})({given})"))
    except gdb.error as problem:
        raise UserError(f"{spot.symbol} cannot be called in the program: {str(problem).splitlines()[0]}") from None
    function = table_version.table().function(spot.symbol)
    if not status or function is None:
        return ""
    return decode.result(function, status, table_version.table(), process.InferiorMemory()).text


def ask_driver(spot: planting.PlantingSpot) -> MemoryInUse:
    error = call(spot, answer_place(), answer_place() + 8)
    free, total = words(answer_place(), 2)
    return MemoryInUse(spot, total, total - free, error)


def ask_device(spot: planting.PlantingSpot) -> int:
    """Of the thread's current context."""
    return -1 if call(spot, answer_place()) else words(answer_place(), 1)[0] & 0xFFFFFFFF


def ask_nvml(handle: planting.PlantingSpot, spot: planting.PlantingSpot) -> MemoryInUse:
    error = call(handle, 0, answer_place()) or call(spot, words(answer_place(), 1)[0], answer_place() + 8)
    total, _, used = words(answer_place() + 8, 3)
    return MemoryInUse(spot, total, used, error)


def words(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}Q", process.InferiorMemory().read(address, 8 * count))
