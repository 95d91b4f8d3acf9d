"""What ``nsys export --type sqlite`` writes: calls of the runtime and the driver, the memory that they hand out,
kernels, copies, fills, graphs and waits on the GPU. (Nsight Systems User Guide: "SQLite Schema Reference".)

Times are nanoseconds. A ``globalTid`` has the process in bits 24 to 47 and the thread below. Runtime functions have
the version behind their names that they came with: cudaMalloc_v3020.
"""

from __future__ import annotations

import re
import sqlite3
from itertools import chain
from pathlib import Path

from gdbcuda.errors import UserError
from gdbcuda.log.foreign import nsys_memory
from gdbcuda.log.foreign.nsys_gpu import GpuTables
from gdbcuda.log.foreign.nsys_tables import (
    DRIVER,
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    RUNTIME,
    Row,
    Tables,
    lane_of,
    times,
)
from gdbcuda.log.foreign.timed_calls import TimedCalls

MAGIC = b"SQLite format 3\0"
THREADS, PROCESSES, BEGIN = "ThreadNames", "PROCESSES", "TARGET_INFO_SESSION_START_TIME"
VERSION = re.compile(r"_v\d{4,5}$")


def read(path: str, calls: TimedCalls) -> None:
    try:
        connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            export = Export(connection, calls)
            export.read()
            export.tables.progress.close()
        finally:
            connection.close()
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as problem:  # the last: of a name that is none
        raise UserError(f"no export of nsys: {problem}") from None


class Export:
    def __init__(self, connection: sqlite3.Connection, calls: TimedCalls) -> None:
        self.calls = calls
        self.tables = Tables(connection, calls.problems)

    def read(self) -> None:
        if not self.tables.names & {RUNTIME, DRIVER, KERNEL, MEMCPY, MEMSET, GRAPH}:
            raise UserError(f"no export of nsys: it has no table {RUNTIME}, nor one of kernels or copies")
        for row in self.tables.rows(BEGIN):
            self.calls.begin(row.get("utcEpochNs"))
        for row in self.tables.rows(THREADS):
            self.calls.lane_names[lane_of(row.get("globalTid"))] = str(self.tables.strings.get(row.get("nameId")) or "")
        for row in self.tables.rows(PROCESSES):
            pid, name = row.get("pid"), row.get("name")
            if type(pid) is int and name and isinstance(name, str):
                self.calls.programs[pid] = {"program": name}
        for row in chain(self.tables.rows(RUNTIME), self.tables.rows(DRIVER)):
            self.call(row)
        GpuTables(self.tables, self.calls).read()
        self.read_memory()

    def read_memory(self) -> None:
        """Variables of modules no call asks for."""
        if nsys_memory.TABLE not in self.tables.names:
            functions = map(self.calls.table.function, (call.name for call in self.calls.calls))
            self.calls.problems[nsys_memory.WITHOUT] += sum(map(nsys_memory.is_allocation, functions))
        for row in self.tables.rows(nsys_memory.TABLE):
            if row.get("memKind") in nsys_memory.VARIABLES:
                continue
            call = self.calls.cause(lane_of(row.get("globalPid"))[0], row.get("correlationId"))
            if call is None or not nsys_memory.tell(self.calls.table.function(call.name), call, row):
                self.calls.problems["memory that no call of the trace hands out or takes back"] += 1

    def call(self, row: Row) -> None:
        name, where = self.tables.strings.get(row.get("nameId")), row.get("globalTid")
        name = VERSION.sub("", name) if isinstance(name, str) else name
        call = self.calls.add(name, *times(row), lane_of(where), status=row.get("returnValue"))
        if call is not None:
            self.calls.link(row.get("correlationId"), call)
