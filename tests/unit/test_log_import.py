"""gdbcuda log import: traces that others have made get the same views; what is no trace is one line."""

from __future__ import annotations

import gzip
import json
import random
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shim_support import ROOT

from gdbcuda.errors import UserError
from gdbcuda.log.foreign import importing

GDBCUDA = (sys.executable, "-m", "gdbcuda")
LINES = """\
{"ts":0.000001,"op_id":0,"phase":"B","name":"cuInit","details":{"flags":0}}
{"ts":0.000050,"op_id":0,"phase":"E","name":"cuInit","details":{"status":0}}
{"ts":0.000060,"op_id":1,"phase":"B","name":"cudaMalloc","details":{"size":4096}}
{"ts":0.000070,"op_id":2,"phase":"B","name":"cuMemAlloc_v2","details":{"bytesize":4096}}
{"ts":0.000080,"op_id":2,"phase":"E","name":"cuMemAlloc_v2","details":{"status":2}}
{"ts":0.000090,"op_id":1,"phase":"E","name":"cudaMalloc","details":{"status":2}}
{"ts":0.000100,"op_id":3,"phase":"B","name":"cuCtxSynchronize"}
"""
# As torch.profiler's export_chrome_trace writes it.
TORCH: dict[str, Any] = {"schemaVersion": 1, "traceName": "x", "distributedInfo": {"backend": "nccl", "rank": 3},
                         "baseTimeNanoseconds": 1764000000000000000, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 5e9, "dur": 100.5,
     "args": {"External id": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 5e9 + 10, "dur": 20,
     "args": {"External id": 1, "cbid": 211, "correlation": 33}},
    {"ph": "X", "cat": "kernel", "name": "void gemm<float>(float*)", "pid": 0, "tid": 7, "ts": 5e9 + 40, "dur": 50,
     "args": {"device": 0, "stream": 7, "correlation": 33, "grid": [2, 1, 1], "block": [128, 1, 1]}},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "tid": 7, "ts": 5e9 + 40, "dur": 60,
     "args": {"External id": 2}},
    {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
    {"ph": "s", "id": 33, "pid": 7, "tid": 7, "ts": 5e9 + 10, "cat": "ac2g", "name": "ac2g"},
    {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
     "ts": 5e9, "dur": 200},
]}  # fmt: skip


def imported(tmp_path: Path, name: str, text: str | bytes) -> tuple[subprocess.CompletedProcess[str], Path]:
    trace, log = tmp_path / name, tmp_path / "calls.jsonl"
    trace.write_bytes(text if isinstance(text, bytes) else text.encode())
    line = [*GDBCUDA, "log", "import", str(trace), "-o", str(log)]
    return subprocess.run(line, capture_output=True, text=True, cwd=ROOT), log


def shown(log: Path) -> list[dict[str, Any]]:
    done = subprocess.run([*GDBCUDA, "log", "show", "--json", str(log)], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) in ((0, ""), (0, f"gdbcuda: {log}: a call without its end\n"))
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_begin_and_end_lines(tmp_path: Path) -> None:
    done, log = imported(tmp_path, "trace.jsonl", LINES)
    assert (done.returncode, done.stdout) == (0, f"4 calls in {log}\n")
    init, outer, inner, last = shown(log)
    assert (init["layer"], init["result"], init["start"]) == ("driver", "CUDA_SUCCESS", 0.0)
    assert (outer["layer"], outer["result"]) == ("runtime", "cudaErrorMemoryAllocation")
    assert (inner["parent"], inner["depth"], inner["result"]) == (1, 1, "CUDA_ERROR_OUT_OF_MEMORY")
    assert last["ended"] == "not over"


def test_what_is_behind_the_events_counts_too(tmp_path: Path) -> None:
    """They are read one by one, and whose they are may be told at the end."""
    (tmp_path / "last.json").write_text(json.dumps(dict(reversed(TORCH.items()))))
    (tmp_path / "first.json").write_text(json.dumps(TORCH))
    last, first = (importing.read(str(tmp_path / f"{name}.json")) for name in ("last", "first"))
    assert [(one.name, one.layer, one.start) for one in last.calls] == [
        (one.name, one.layer, one.start) for one in first.calls]  # fmt: skip
    assert (last.programs, last.epoch) == (first.programs, first.epoch) and last.programs[7]["rank"] == "rank 3"


def test_what_the_profiler_of_pytorch_writes(tmp_path: Path) -> None:
    done, log = imported(tmp_path, "trace.json", json.dumps(TORCH))
    assert done.returncode == 0, done.stderr
    by_name = {call["name"]: call for call in shown(log)}
    launch, kernel = by_name["cudaLaunchKernel"], by_name["void gemm<float>(float*)"]
    assert launch["parent"] == by_name["aten::mm"]["number"]
    assert (kernel["layer"], kernel["arguments"]["call"]) == ("gpu", launch["number"])
    assert kernel["start"] == pytest.approx(40e-6) and kernel["seconds"] == pytest.approx(50e-6)
    assert kernel["parent"] is None, "what is said of a stream stands beside its work, not around it"
    head, process = (json.loads(line) for line in log.read_text().splitlines()[:2])
    assert process["details"] == {"program": "python", "rank": "rank 3", "inferior": 0, "pid": 7}
    assert head["started"] == pytest.approx(1764005000, abs=1)


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
                correlationId INT, globalPid INT, bytes INT, copyKind INT);
            INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cuLaunchKernel'), (3, 'add(int*)'),
                (4, 'cudaMemcpy_v3020');
        """)
        thread, process = (4711 << 24) + 4712, 4711 << 24
        made.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, ?, NULL)",
                         [(1000, 9000, thread, 5, 1, 0), (2000, 8000, thread, 6, 2, 0), (9500, 20000, thread, 7, 4, 1)])
        made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (7000, 30000, 0, 1, 7, 5, ?, 3, 3, 16, 2,1,1, "
                     "64,1,1, 0)", (process,))  # fmt: skip
        made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (31000, 32000, 0, 7, 7, ?, 4096, 2)", (process,))


def test_what_nsys_exports(tmp_path: Path) -> None:
    export_of_nsys(tmp_path / "report.sqlite")
    done, log = imported(tmp_path, "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    assert done.returncode == 0, done.stderr
    outer, inner, kernel, copying, copied = shown(log)
    assert (outer["name"], outer["layer"], outer["pid"], outer["lwp"]) == ("cudaLaunchKernel", "runtime", 4711, 4712)
    assert (inner["name"], inner["parent"]) == ("cuLaunchKernel", outer["number"])
    assert (copying["result"], copying["status"]) == ("cudaErrorInvalidValue", 1)
    assert (kernel["name"], kernel["layer"], kernel["arguments"]["call"]) == ("add(int*)", "gpu", outer["number"])
    assert (copied["name"], copied["arguments"]["bytes"]) == ("copy DtoH", 4096)
    assert kernel["thread"] == copied["thread"] != outer["thread"]


@pytest.mark.parametrize(("table", "column"), [
    ("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"), ("CUPTI_ACTIVITY_KIND_KERNEL", "streamId"),
    ("StringIds", "value")])  # fmt: skip
def test_a_column_that_another_version_calls_otherwise_is_named(tmp_path: Path, table: str, column: str) -> None:
    export_of_nsys(tmp_path / "report.sqlite")
    with sqlite3.connect(tmp_path / "report.sqlite") as made:
        made.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
    said = f"a row of {table}, which has no column {column} (of an unknown version of nsys?)"
    assert importing.read(str(tmp_path / "report.sqlite")).problems[said] > 0


def test_what_nsys_exports_with_a_table_of_the_driver(tmp_path: Path) -> None:
    export_of_nsys(tmp_path / "report.sqlite")
    _, log = imported(tmp_path, "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    with sqlite3.connect(tmp_path / "report.sqlite") as made:
        made.executescript("""
            CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId = 2;
            DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId = 2;
        """)
    (tmp_path / "other").mkdir()
    _, other = imported(tmp_path / "other", "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    assert shown(log) == shown(other)


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


def test_what_nsys_exports_of_two_processes_with_graphs(tmp_path: Path) -> None:
    of_two_processes(tmp_path / "report.sqlite")
    done, log = imported(tmp_path, "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    assert done.returncode == 0, done.stderr
    calls = shown(log)
    by_number = {one["number"]: one for one in calls}
    causes = [(one["name"], one["pid"], by_number[one["arguments"]["call"]]) for one in calls if one["layer"] == "gpu"]
    assert [(name, pid, cause["name"], cause["pid"]) for name, pid, cause in causes] == [
        ("_Z3addPi", pid, "cudaLaunchKernel", pid) if is_kernel else ("graph", pid, "cudaGraphLaunch", pid)
        for pid in (100, 200) for is_kernel in (True, False)]  # fmt: skip
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0]["started"] == pytest.approx(1784597271, abs=1)
    names = {one["details"]["pid"]: one["details"]["name"] for one in lines
             if one.get("name") == "thread" and one["details"]["lwp"]}  # fmt: skip
    assert names == {100: "pt_main_thread", 200: "pt_main_thread"}
    on_gpu = subprocess.run([*GDBCUDA, "log", "gpu", str(log)], capture_output=True, text=True, cwd=ROOT).stdout
    assert on_gpu.startswith("2 kernels, 2 graphs\n"), on_gpu
    for pid in (100, 200):
        assert f"\nGPU 0 of process {pid}: 0.85 us from its first work to its last, busy 88 %" in on_gpu, on_gpu


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


def test_the_memory_that_nsys_knows_of(tmp_path: Path) -> None:
    of_memory(tmp_path / "report.sqlite", [
        ("cudaMalloc_v3020", 0x7F0000000000, 1 << 30, 0, 0), ("cudaMallocPitch_v3020", 0x7F0100000000, 1 << 20, 1, 0),
        ("cudaMallocArray_v3020", 0x7F0200000000, 65536, 0, 0), ("cudaMallocAsync_v11020", 0x7F0300000000, 512, 0, 0),
        ("cudaFree_v3020", 0x7F0000000000, 1 << 30, 0, 1), ("cuMemFree_v2", 0x7F0300000000, 512, 0, 1)],
        "UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET correlationId = 99 WHERE bytes = 512;"
        "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (9, 0, 0, 0, 4096, 0, 4096, 5, 0, 'table', 0)")  # fmt: skip
    done, log = imported(tmp_path, "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    assert "2 x memory that no call of the trace hands out or takes back" in done.stderr
    text = subprocess.run([*GDBCUDA, "log", "memory", "--view", "live", "--json", str(log)], capture_output=True,
                          text=True, cwd=ROOT).stdout  # fmt: skip
    found = json.loads(text)
    assert [(one["address"], one["bytes"], one["kind"], one["device"]) for one in found["live"]] == [
        ("0x7f0100000000", 1 << 20, "device", 1), ("0x7f0200000000", 65536, "array", 0)]  # fmt: skip
    assert found["peak"]["bytes"] == (1 << 30) + (1 << 20) + 65536 and found["problems"] == []


def test_an_export_of_nsys_without_its_memory_says_so(tmp_path: Path) -> None:
    of_memory(tmp_path / "report.sqlite", [("cudaMalloc_v3020", 4096, 4096, 0, 0)] * 3,
              "DROP TABLE CUDA_GPU_MEMORY_USAGE_EVENTS")  # fmt: skip
    done, _ = imported(tmp_path, "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    assert "3 x an allocation without its size, which nsys has with --cuda-memory-usage=true" in done.stderr


def test_a_report_that_was_not_exported(tmp_path: Path) -> None:
    (tmp_path / "report.nsys-rep").write_bytes(b"\x7fQD\0" * 100)
    with pytest.raises(UserError, match=r"nsys export --type sqlite  makes of it$"):
        importing.read(str(tmp_path / "report.nsys-rep"))


# A call that jumps on to the driver within a nanosecond, one that reads and writes a count, one that is not over.
OURS = """{"gdbcuda_log":1,"phase":"H","version":"0.1.0","started":0.0,"program":"","cuda":"13.0","nvml":"13.5"}
{"ts":0.0,"phase":"M","name":"process","details":{"program":"/train","rank":"rank 3","inferior":0,"pid":7}}
{"ts":0.0,"op_id":0,"phase":"B","name":"cuInit","details":{"Flags":0},"thread":1,"pid":7,"depth":0,"layer":"app"}
{"ts":0.5,"op_id":1,"phase":"B","name":"cuDeviceGet","details":{"device":"0x40","ordinal":0},"thread":1,"pid":7,"depth":1,"parent":0,"layer":"hook"}
{"ts":0.5,"op_id":2,"phase":"B","name":"cuDeviceGet","details":{"device":"0x40","ordinal":0},"thread":1,"pid":7,"depth":2,"parent":1,"layer":"driver"}
{"ts":0.500000001,"op_id":2,"phase":"E","name":"cuDeviceGet","details":{"status":0,"result":"CUDA_SUCCESS","out":{"device":{"address":"0x40","value":0}}}}
{"ts":0.500000001,"op_id":1,"phase":"E","name":"cuDeviceGet","details":{"status":0,"result":"CUDA_SUCCESS","out":{"device":{"address":"0x40","value":0}}}}
{"ts":0.6,"op_id":0,"phase":"E","name":"cuInit","details":{"ended":"unwound"}}
{"ts":0.7,"op_id":3,"phase":"B","name":"nvmlDeviceGetSupportedMemoryClocks","details":{"count":{"address":"0x20","value":8}},"thread":2,"pid":7,"depth":0,"layer":"driver"}
{"ts":0.8,"op_id":3,"phase":"E","name":"nvmlDeviceGetSupportedMemoryClocks","details":{"status":0,"result":"NVML_SUCCESS","out":{"count":{"address":"0x20","value":3}}}}
{"ts":0.9,"op_id":4,"phase":"B","name":"cuMemFree_v2","details":{"dptr":"0x10"},"thread":1,"pid":7,"depth":0,"layer":"driver"}
"""


def test_our_own_export_comes_back(tmp_path: Path) -> None:
    (tmp_path / "first.jsonl").write_text(OURS)
    first = tmp_path / "first.jsonl"
    exported = subprocess.run([*GDBCUDA, "log", "export", str(first)], capture_output=True, text=True, cwd=ROOT).stdout
    _, again = imported(tmp_path, "exported.json", exported)
    names = ("name", "layer", "parent", "thread", "arguments", "out", "result", "status", "ended")
    before, after = ([[call.get(name) for name in names] for call in shown(one)] for one in (first, again))
    assert before == after and len(before) == 5
    assert '"rank 3"' in again.read_text()


def test_lines_of_begins_and_ends_alone(tmp_path: Path) -> None:
    """For tools that know no other line; and they come back with the layers they had."""
    (tmp_path / "first.jsonl").write_text(OURS)
    line = [*GDBCUDA, "log", "export", "--format", "begin-end", str(tmp_path / "first.jsonl")]
    text = subprocess.run(line, capture_output=True, text=True, cwd=ROOT).stdout
    begun: dict[int, dict[str, Any]] = {}
    for event in map(json.loads, text.splitlines()):
        known = begun.setdefault(event["op_id"], event) if event["phase"] == "B" else begun.pop(event["op_id"])
        assert known["name"] == event["name"] and known["ts"] <= event["ts"]
    assert [one["name"] for one in begun.values()] == ["cuMemFree_v2"], "it was not over"
    _, again = imported(tmp_path, "lines.jsonl", text)
    found = [[(call["name"], call["layer"], call["result"], call["parent"]) for call in shown(one)]
             for one in (tmp_path / "first.jsonl", again)]  # fmt: skip
    assert found[0] == found[1] and len(found[0]) == 5


def test_who_called_comes_back_with_our_export(tmp_path: Path) -> None:
    """So that memory is told by line of what was kept as a trace alone."""
    names = ["step at train.py:34", "sum in libsum.so", "libsum.so+0x1330", "step at train.py:34", ""]
    events = [{"ph": "X", "cat": "driver", "name": "cuMemAlloc_v2", "pid": 7, "tid": 1, "ts": 10 * number, "dur": 5,
               "args": {"dptr": {"address": "0x10", "value": hex(4096 << number)}, "bytesize": 64, "caller": name}}
              for number, name in enumerate(names)]  # fmt: skip
    _, log = imported(tmp_path, "trace.json", json.dumps({"traceEvents": events}))
    told = subprocess.run([*GDBCUDA, "log", "show", str(log)], capture_output=True, text=True, cwd=ROOT).stdout
    assert [line.partition("  by ")[2] for line in told.splitlines()] == names
    line = [*GDBCUDA, "log", "memory", "--view", "leaks", str(log)]
    leaks = subprocess.run(line, capture_output=True, text=True, cwd=ROOT).stdout
    assert re.search(r"^ +2  128 +cuMemAlloc_v2 +step at train.py:34 ", leaks, re.MULTILINE)


def test_a_trace_that_is_packed(tmp_path: Path) -> None:
    """PyTorch's handlers and vLLM write .pt.trace.json.gz."""
    for number, text in enumerate((json.dumps(TORCH), LINES)):
        plain, packed = (tmp_path / f"{kind}{number}" for kind in ("plain", "packed"))
        plain.mkdir(), packed.mkdir()
        _, first = imported(plain, "trace.json", text)
        done, second = imported(packed, "trace.json.gz", gzip.compress(text.encode()))
        assert done.returncode == 0 and shown(second) == shown(first)
    done, _ = imported(tmp_path, "trace.json.gz", gzip.compress(LINES.encode())[:-9])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "cut off or damaged" in done.stderr


@pytest.mark.parametrize("view", ["tree", "summary", "timeline", "memory", "export", "changes", "show"])
def test_every_view_reads_what_was_imported(tmp_path: Path, view: str) -> None:
    export_of_nsys(tmp_path / "report.sqlite")
    _, log = imported(tmp_path, "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    done = subprocess.run([*GDBCUDA, "log", view, str(log)], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "text, told",
    [("", "empty"), ("{", "neither JSON"), ("[]", "no calls"), ('{"traceEvents": 7}', "no list"), ("7", "no list"),
     ('{"traceEvents": [7, {"ph": "X"}]}', "no calls"), ("[" * 100_000, "neither JSON"),
     ("SQLite format 3\0 and no more", "no export of nsys"), ('{"phase": "B"}\n', "no calls")],
    ids=lambda value: str(value)[:12],
)  # fmt: skip
def test_what_is_no_trace_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    done, log = imported(tmp_path, "trace", text)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert told in done.stderr and not log.exists()


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^cannot import .*: is a directory; the file of a trace is needed$"):
        importing.read(str(tmp_path))


def test_an_export_whose_tables_compute_for_ever(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "bad.sqlite") as made:
        made.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS WITH RECURSIVE n(x) AS "
                     "(SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start FROM n")  # fmt: skip
    done, _ = imported(tmp_path, "again.sqlite", (tmp_path / "bad.sqlite").read_bytes())
    assert done.returncode == 2 and "no table" in done.stderr


def strange(dice: random.Random) -> Any:
    return dice.choice([None, True, -1, 1 << 70, 1e300, "x", "", [], {}, [[]], {"a": {}}, 0.5, "7", "\ud800"])


def test_broken_files_are_read_or_refused(tmp_path: Path) -> None:
    dice, trace = random.Random(16), tmp_path / "trace"
    export_of_nsys(tmp_path / "report.sqlite")
    of_memory(tmp_path / "memory.sqlite", [("cudaMalloc", 4096, 4096, 0, 0), ("cudaFree", 4096, 4096, 0, 1)])
    raws = [LINES.encode(), json.dumps(TORCH).encode()]
    raws += [(tmp_path / name).read_bytes() for name in ("report.sqlite", "memory.sqlite")]
    for _ in range(400):
        raw = bytearray(dice.choice(raws))
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(raw))
            raw[at : at + dice.randrange(3)] = bytes([dice.randrange(256)])
        try_to_import(trace, bytes(raw), tmp_path)
    for _ in range(300):
        document = json.loads(json.dumps(TORCH))
        one = dice.choice(document["traceEvents"])
        one[dice.choice([*one])] = strange(dice)
        try_to_import(trace, json.dumps(document).encode(), tmp_path)
    for _ in range(300):
        lines = [json.loads(line) for line in LINES.splitlines()]
        one = dice.choice(lines)
        one[dice.choice([*one])] = strange(dice)
        try_to_import(trace, "\n".join(map(json.dumps, lines)).encode(), tmp_path)


def try_to_import(trace: Path, raw: bytes, tmp_path: Path) -> None:
    trace.write_bytes(raw)
    try:
        importing.read(str(trace)).write(str(tmp_path / "log"), "")
    except UserError as problem:
        assert "\n" not in str(problem)
