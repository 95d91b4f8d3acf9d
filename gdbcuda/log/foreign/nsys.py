"""What ``nsys export --type sqlite`` writes: calls of the runtime and the driver, the memory that they hand out,
kernels, copies, fills and graphs on the GPU. (Nsight Systems User Guide: "SQLite Schema Reference".)

Times are nanoseconds. A ``globalTid`` has the process in bits 24 to 47 and the thread below. Runtime functions have
the version behind their names that they came with: cudaMalloc_v3020. Tables come when there is something in them, and
each version has other columns.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from gdbcuda.errors import UserError
from gdbcuda.gpu import gpu_words
from gdbcuda.log.foreign import nsys_memory
from gdbcuda.log.foreign.timed_calls import GPU, TimedCalls

MAGIC = b"SQLite format 3\0"
NANOSECONDS = 1e9
# The driver's calls are among the runtime's in most versions, and have a table of their own in others.
RUNTIME, DRIVER, STRINGS = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER", "StringIds"
KERNEL, MEMCPY, MEMSET, GRAPH = (f"CUPTI_ACTIVITY_KIND_{one}" for one in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"))
OF_CALLS, OF_WORK = ("start", "end", "globalTid", "nameId"), ("start", "end", "deviceId", "streamId")
NEEDED = {STRINGS: ("id", "value"), **dict.fromkeys((RUNTIME, DRIVER), OF_CALLS),
          **dict.fromkeys((KERNEL, MEMCPY, MEMSET, GRAPH), OF_WORK)}  # columns that all versions have
THREADS, BEGIN = "ThreadNames", "TARGET_INFO_SESSION_START_TIME"
VERSION = re.compile(r"_v\d{4,5}$")
LANE_BITS, DEVICES = 24, 1 << 20
SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")


def read(path: str, calls: TimedCalls) -> None:
    try:
        connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            Export(connection, calls).read()
        finally:
            connection.close()
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as problem:  # the last: of a name that is none
        raise UserError(f"no export of nsys: {problem}") from None


class Export:
    def __init__(self, connection: sqlite3.Connection, calls: TimedCalls) -> None:
        self.connection, self.calls = connection, calls
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")  # a view may compute for ever
        self.tables = {name for (name,) in found if isinstance(name, str)}
        self.strings: dict[Any, Any] = {}

    def read(self) -> None:
        if not self.tables & {RUNTIME, DRIVER, KERNEL, MEMCPY, MEMSET, GRAPH}:
            raise UserError(f"no export of nsys: it has no table {RUNTIME}, nor one of kernels or copies")
        self.strings = {row.get("id"): row.get("value") for row in self.rows(STRINGS)}
        for row in self.rows(BEGIN):
            self.calls.begin(row.get("utcEpochNs"))
        for row in self.rows(THREADS):
            self.calls.lane_names[lane_of(row.get("globalTid"))] = str(self.strings.get(row.get("nameId")) or "")
        for row in chain(self.rows(RUNTIME), self.rows(DRIVER)):
            self.call(row)
        self.read_gpu()
        self.read_memory()

    def read_memory(self) -> None:
        """Variables of modules no call asks for."""
        if nsys_memory.TABLE not in self.tables:
            functions = map(self.calls.table.function, (call.name for call in self.calls.calls))
            self.calls.problems[nsys_memory.WITHOUT] += sum(map(nsys_memory.is_allocation, functions))
        for row in self.rows(nsys_memory.TABLE):
            if row.get("memKind") in nsys_memory.VARIABLES:
                continue
            call = self.calls.cause(lane_of(row.get("globalPid"))[0], row.get("correlationId"))
            if call is None or not nsys_memory.tell(self.calls.table.function(call.name), call, row):
                self.calls.problems["memory that no call of the trace hands out or takes back"] += 1

    def read_gpu(self) -> None:
        for row in self.rows(KERNEL):
            names = (self.strings.get(row.get(one)) for one in ("demangledName", "shortName", "mangledName"))
            shape = [row.get(one) for one in SHAPE]
            more = {"grid": shape[:3], "block": shape[3:], "registers": row.get("registersPerThread"),
                    "shared": row.get("dynamicSharedMemory")}  # fmt: skip
            self.on_gpu(next(filter(None, names), "kernel"), row, more)
        for row in self.rows(MEMCPY):
            self.on_gpu(f"copy {gpu_words.COPIES.get(row.get('copyKind') or 0, '?')}", row, {"bytes": row.get("bytes")})
        for row in self.rows(MEMSET):
            self.on_gpu("fill", row, {"bytes": row.get("bytes"), "value": row.get("value")})
        for row in self.rows(GRAPH):  # in the place of its kernels, unless nsys was asked for --cuda-graph-trace=node
            self.on_gpu(gpu_words.GRAPH, row, {"graph": row.get("graphId")})

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        if table in self.tables:
            cursor = self.connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            missing = next((one for one in NEEDED.get(table, ()) if one not in names), None)
            if missing is not None:
                unread = f"a row of {table}, which has no column {missing} (of an unknown version of nsys?)"
                self.calls.problems[unread] += sum(1 for _ in cursor)
                return
            for row in cursor:
                yield dict(zip(names, row))

    def call(self, row: dict[str, Any]) -> None:
        name, where = self.strings.get(row.get("nameId")), row.get("globalTid")
        name = VERSION.sub("", name) if isinstance(name, str) else name
        call = self.calls.add(name, *times(row), lane_of(where), status=row.get("returnValue"))
        if call is not None:
            self.calls.link(row.get("correlationId"), call)

    def on_gpu(self, name: Any, row: dict[str, Any], more: dict[str, Any]) -> None:
        """Each stream of a device is a lane of its own."""
        device, stream, pid = row.get("deviceId"), row.get("streamId"), row.get("globalPid")
        if type(device) is not int or type(stream) is not int or not 0 <= device < DEVICES or stream < 0:
            self.calls.problems["an event with something missing"] += 1
            return
        lane = lane_of(pid)[0], -1 - (device + DEVICES * stream)
        details = {key: value for key, value in more.items() if value is not None}
        call = self.calls.add(name, *times(row), lane, layer=GPU, details=details)
        if call is not None:
            self.calls.lane_names[lane] = f"GPU {device} stream {stream}"
            self.calls.link(row.get("correlationId"), call)


def lane_of(where: Any) -> tuple[int, int]:
    """Process and thread."""
    return (where >> LANE_BITS & 0xFFFFFF, where & 0xFFFFFF) if type(where) is int and where >= 0 else (0, 0)


def times(row: dict[str, Any]) -> tuple[Any, Any]:
    start, end = row.get("start"), row.get("end")
    if type(start) is not int or type(end) is not int:
        return None, None
    return start / NANOSECONDS, end / NANOSECONDS
