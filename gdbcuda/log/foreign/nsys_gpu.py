"""What an export of nsys tells of the GPU: kernels, copies, fills, graphs, waits, as our own records of them are told.
(Nsight Systems User Guide: "SQLite Schema Reference".)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gdbcuda.gpu import gpu_words
from gdbcuda.gpu.gpu_calls import GPU
from gdbcuda.log.foreign import nsys_tables
from gdbcuda.log.foreign.nsys_tables import Row, Tables, lane_of, times
from gdbcuda.log.foreign.timed_calls import TimedCalls

SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
GPUS, ORDINALS = "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE"
MEMORIES, MEMORY = "ENUM_CUDA_MEM_KIND", "CUDA_MEMOPR_MEMORY_KIND_"
MIGRATIONS = {11: "migrate HtoD", 12: "migrate DtoH", 13: "migrate DtoD"}  # of its table ENUM_CUDA_MEMCPY_OPER
# The column syncType is not what the file's own table of its values says (2025.3.1); the call that waits tells it.
WAITS = {"StreamWaitEvent": 2, "EventSynchronize": 1, "StreamSynchronize": 3, "DeviceSynchronize": 4,
         "CtxSynchronize": 4, "ThreadSynchronize": 4}  # fmt: skip
OF_STREAMS = (2, 3)


class GpuTables:
    """Each stream of a device is a lane of its own, and the waits of each thread are."""

    def __init__(self, tables: Tables, calls: TimedCalls) -> None:
        self.tables, self.calls = tables, calls
        self.lanes: dict[tuple[int, str], int] = {}
        self.used: dict[int, set[int]] = {}  # devices, by process
        self.memories = {row.get("id"): memory_name(row) for row in tables.rows(MEMORIES)}

    def read(self) -> None:
        for row in self.tables.rows(nsys_tables.KERNEL):
            self.add(self.kernel_name(row), row, kernel(row))
        for row in self.tables.rows(nsys_tables.MEMCPY):
            self.copy(row)
        for row in self.tables.rows(nsys_tables.MEMSET):
            found = {"bytes": row.get("bytes"), "value": row.get("value"), "memory": self.memory(row, "memKind")}
            self.add(gpu_words.FILL, row, found)
        for row in self.tables.rows(nsys_tables.GRAPH):  # in the place of its kernels, without --cuda-graph-trace=node
            self.add(gpu_words.GRAPH, row, {"graph": row.get("graphId")})
        for row in self.tables.rows(nsys_tables.WAIT):
            self.wait(row)
        self.name_devices()

    def kernel_name(self, row: Row) -> Any:
        names = (self.tables.strings.get(row.get(one)) for one in ("demangledName", "shortName", "mangledName"))
        return next(filter(None, names), "kernel")

    def copy(self, row: Row) -> None:
        kind = row.get("copyKind") or 0
        if kind in MIGRATIONS:
            self.add(MIGRATIONS[kind], row, {"bytes": row.get("bytes")}, "GPU unified memory")
            return
        found = {"bytes": row.get("bytes"), "from": self.memory(row, "srcKind"), "to": self.memory(row, "dstKind")}
        self.add(f"{gpu_words.COPY} {gpu_words.COPIES.get(kind, '?')}", row, found)

    def memory(self, row: Row, column: str) -> str | None:
        return self.memories.get(row.get(column))

    def wait(self, row: Row) -> None:
        cause = self.calls.causes.get((lane_of(row.get("globalPid"))[0], row.get("correlationId") or 0))
        kind = next((WAITS[one] for one in WAITS if cause is not None and one in cause.name), 0)
        found = {"stream": row.get("streamId")} if kind in OF_STREAMS else {}
        name = "GPU waits" if cause is None else f"GPU waits of thread {cause.lwp}"
        self.add(gpu_words.WAITS.get(kind, "wait"), row, found, name)

    def add(self, name: Any, row: Row, details: Mapping[str, Any], lane: str = "") -> None:
        device, stream, pid = row.get("deviceId"), row.get("streamId"), lane_of(row.get("globalPid"))[0]
        if not lane and not all(type(one) is int and one >= 0 for one in (device, stream)):
            self.calls.problems["an event with something missing"] += 1
            return
        lane = lane or f"GPU {device} stream {stream}"
        number = self.lanes.setdefault((pid, lane), -1 - len(self.lanes))
        known = {key: value for key, value in details.items() if value is not None}
        call = self.calls.add(name, *times(row), (pid, number), layer=GPU, details=known)
        if call is not None:
            self.calls.lane_names[pid, number] = lane
            self.calls.link(row.get("correlationId"), call)
            if type(device) is int:
                self.used.setdefault(pid, set()).add(device)

    def name_devices(self) -> None:
        """A process numbers those that it may use from 0."""
        names = {row.get("id"): row.get("name") for row in self.tables.rows(GPUS)}
        for row in self.tables.rows(ORDINALS):
            name, pid, device = names.get(row.get("gpuId")), row.get("pid"), row.get("cudaId")
            if isinstance(name, str) and type(pid) is int and device in self.used.get(pid, ()):
                self.calls.devices.setdefault(pid, {})[str(device)] = name


def kernel(row: Row) -> dict[str, Any]:
    shape = [row.get(one) for one in SHAPE]
    found = {"grid": shape[:3], "block": shape[3:], "registers": row.get("registersPerThread"),
             "shared": row.get("dynamicSharedMemory")}  # fmt: skip
    more = {"static": row.get("staticSharedMemory"), "local": row.get("localMemoryPerThread")}
    return {**found, **{name: value for name, value in more.items() if value}}


def memory_name(row: Row) -> str | None:
    """ "pageable" of CUDA_MEMOPR_MEMORY_KIND_PAGEABLE."""
    name = row.get("name")
    if not isinstance(name, str) or not name.startswith(MEMORY):
        return None
    found = name[len(MEMORY) :].lower().replace("_", " ").replace("device static", "static")
    return None if found == "unknown" else found
