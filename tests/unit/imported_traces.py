"""Exports as nsys writes them, and what `gdbcuda log import` makes of traces."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from forking_gdbcuda import run_gdbcuda

from gdbcuda.log.foreign import importing

GDBCUDA = (sys.executable, "-m", "gdbcuda")
def imported(tmp_path: Path, name: str, text: str | bytes) -> tuple[subprocess.CompletedProcess[str], Path]:
    trace, log = tmp_path / name, tmp_path / "calls.jsonl"
    trace.write_bytes(text if isinstance(text, bytes) else text.encode())
    return run_gdbcuda("log", "import", trace, "-o", log), log


def log_of(trace: Path, name: str = "calls.jsonl") -> Path:
    """Without another process."""
    log = trace.with_name(name)
    importing.read(str(trace)).write(str(log), "")
    return log


def shown(log: Path) -> list[dict[str, Any]]:
    done = run_gdbcuda("log", "show", "--json", log)
    assert (done.returncode, done.stderr) in ((0, ""), (0, f"gdbcuda: {log}: a call without its end\n"))
    return [json.loads(line) for line in done.stdout.splitlines()]


def export_of_nsys(path: Path) -> None:
    with sqlite3.connect(path) as made:
        made.executescript("""
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT,
                correlationId INT, nameId INT, returnValue INT, callchainId INT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
                correlationId INT, globalPid INT, demangledName INT, shortName INT, registersPerThread INT,
                gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, dynamicSharedMemory INT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT,
                correlationId INT, globalPid INT, bytes INT, copyKind INT, srcKind INT, dstKind INT);
            CREATE TABLE ENUM_CUDA_MEM_KIND (id INT, name TEXT, label TEXT);
            INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),
                (5, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC', 'Device Static');
            INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cuLaunchKernel'), (3, 'add(int*)'),
                (4, 'cudaMemcpy_v3020');
        """)
        thread, process = (4711 << 24) + 4712, 4711 << 24
        made.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, ?, NULL)",
                         [(1000, 9000, thread, 5, 1, 0), (2000, 8000, thread, 6, 2, 0), (9500, 20000, thread, 7, 4, 1)])
        made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (7000, 30000, 0, 1, 7, 5, ?, 3, 3, 16, 2,1,1, "
                     "64,1,1, 0)", (process,))  # fmt: skip
        made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (31000, 32000, 0, 7, 7, ?, 4096, 2, 5, 0)",
                     (process,))  # fmt: skip


# As 2025.3.1 writes it, where syncType is one less than its own table of the values has it.
WAITS_OF_NSYS = """
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT
        NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL);
    CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT);
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
    CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA A'), (1, 1, 'NVIDIA B');
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 4711), (0, 0, 4712);
    INSERT INTO PROCESSES VALUES (0, 4711, '/usr/bin/train'), (0, 4712, '/bin/sh');
"""


def of_two_processes(path: Path) -> None:
    """As nsys 2024 writes it of torchrun with graphs, each process with the same numbers."""
    with sqlite3.connect(path) as made:
        made.executescript("""
            CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
            CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
            CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (correlationId INTEGER, nameId INTEGER NOT NULL, start INTEGER
                NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, returnValue INTEGER
                NOT NULL, callchainId INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT
                NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId
                INTEGER, globalPid INTEGER, mangledName INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER
                NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId
                INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);
            INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaGraphLaunch_v10000'), (3, '_Z3addPi'),
                (4, 'pt_main_thread');
            INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1784597271000000000, '', '');
        """)
        for pid, at in ((100, 1000), (200, 2000)):
            of_process = 1 << 48 | pid << 24
            made.execute("INSERT INTO ThreadNames VALUES (4, 20, ?)", (of_process + pid,))
            made.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 0, ?, 0, NULL)",
                             [(5, 1, at, at + 100, of_process + pid), (6, 2, at + 200, at + 300, of_process + pid)])
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, NULL, 7, 5, ?, 3)",
                         (at + 50, at + 150, of_process))  # fmt: skip
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?, 0, 1, 0, 7, 6, ?, 42, 43)",
                         (at + 250, at + 900, of_process))  # fmt: skip


def of_memory(path: Path, events: list[tuple[str, int, int, int, int]], more: str = "") -> None:
    """As nsys writes it with --cuda-memory-usage=true: (function, address, bytes, device, 0 or 1 for a release)."""
    names = sorted({name for name, *_ in events})
    with sqlite3.connect(path) as made:
        made.executescript("""
            CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER
                NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT
                NULL, callchainId INTEGER);
            CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId
                INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes
                INTEGER NOT NULL, memKind INTEGER NOT NULL, memoryOperationType INTEGER NOT NULL, name TEXT,
                correlationId INTEGER);
        """)
        made.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
        for number, (name, address, size, device, operation) in enumerate(events):
            at, process = 1000 * number, 4711 << 24
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)",
                         (at, at + 500, process + 4712, number + 5, names.index(name)))  # fmt: skip
            made.execute("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?, ?, ?, 1, ?, 0, ?, 2, ?, NULL, ?)",
                         (at + 100, process, device, address, size, operation, number + 5))  # fmt: skip
        made.executescript(more)
