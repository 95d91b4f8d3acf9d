"""gdbcuda log import of what nsys exports: calls, memory, the work of GPUs."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from imported_traces import WAITS_OF_NSYS, export_of_nsys, imported, log_of, of_memory, of_two_processes, shown

from gdbcuda.errors import UserError
from gdbcuda.log import progress
from gdbcuda.log.foreign import importing


def test_what_nsys_exports(tmp_path: Path) -> None:
    export_of_nsys(tmp_path / "report.sqlite")
    done, log = imported(tmp_path, "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    assert done.returncode == 0, done.stderr
    outer, inner, kernel, copying, copied = shown(log)
    assert (outer["name"], outer["layer"], outer["pid"], outer["lwp"]) == ("cudaLaunchKernel", "runtime", 4711, 4712)
    assert (inner["name"], inner["parent"]) == ("cuLaunchKernel", outer["number"])
    assert (copying["result"], copying["status"]) == ("cudaErrorInvalidValue", 1)
    assert (kernel["name"], kernel["layer"], kernel["arguments"]["call"]) == ("add(int*)", "gpu", outer["number"])
    assert (copied["name"], copied["arguments"]) == (
        "copy DtoH", {"bytes": 4096, "from": "static", "to": "pageable", "call": copying["number"]})  # fmt: skip
    assert kernel["thread"] == copied["thread"] != outer["thread"]


def test_waits_and_devices_of_nsys(tmp_path: Path) -> None:
    names = ["cudaStreamSynchronize_v3020", "cudaEventSynchronize_v3020", "cuStreamWaitEvent", "cuCtxSynchronize",
             "cudaMemcpy_v3020"]  # fmt: skip
    export_of_nsys(tmp_path / "report.sqlite")
    with sqlite3.connect(tmp_path / "report.sqlite") as made:
        made.executescript(WAITS_OF_NSYS)
        for number, name in enumerate(names, 10):
            at = number * 10_000
            made.execute("INSERT INTO StringIds VALUES (?, ?)", (number, name))
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)",
                         (at, at + 5000, (4711 << 24) + 4712, number, number))  # fmt: skip
            made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?, ?, 0, 7, ?, ?, 2)",
                         (at + 1000, at + 2000, number, 4711 << 24))  # fmt: skip
    log = log_of(tmp_path / "report.sqlite")
    calls = shown(log)
    known = [(one["name"], one["arguments"]) for one in calls if one["layer"] == "gpu" and "wait" in one["name"]]
    assert [(name, calls[found["call"]]["name"], found.get("stream")) for name, found in known] == [
        ("wait for stream", "cudaStreamSynchronize", 7), ("wait for event", "cudaEventSynchronize", None),
        ("stream waits for event", "cuStreamWaitEvent", 7), ("wait for context", "cuCtxSynchronize", None),
        ("wait", "cudaMemcpy", None)]  # fmt: skip
    text = log.read_text()
    assert '"name":"GPU waits of thread 4712"' in text and '"program":"/usr/bin/train"' in text
    on_gpu = run_gdbcuda("log", "gpu", log).stdout
    assert on_gpu.startswith("1 kernel, 1 copy, 4 waits\nGPU 0 (NVIDIA B): "), on_gpu


def test_work_of_one_stream_at_one_time_is_not_in_each_other(tmp_path: Path) -> None:
    """As nodes of a graph are, with --cuda-graph-trace=node, and in PyTorch's profiler."""
    export_of_nsys(tmp_path / "report.sqlite")
    with sqlite3.connect(tmp_path / "report.sqlite") as made:
        made.execute("UPDATE StringIds SET value = ? WHERE id = 3", (f"void add<{'int, ' * 99}int>(int*)",))
        made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 8000, 9000, deviceId, contextId, streamId, 5, "
                     "globalPid, 3, 3, 16, 2,1,1, 64,1,1, 0 FROM CUPTI_ACTIVITY_KIND_KERNEL")  # fmt: skip
    log = log_of(tmp_path / "report.sqlite")
    kernels = [one for one in shown(log) if "grid" in one["arguments"]]
    assert [(one["name"], one["parent"]) for one in kernels] == [("void add<...>(int*)", None)] * 2
    assert kernels[0]["arguments"]["kernel"].startswith("void add<int, int, ")
    assert '"name":"GPU 0 stream 7 (2)"' in log.read_text()
    on_gpu = run_gdbcuda("log", "gpu", "--json", log)
    (stream,) = json.loads(on_gpu.stdout)["streams"]
    assert (stream["stream"], stream["pieces"]) == ("GPU 0 stream 7", 3)


def test_an_import_comes_back_from_our_export(tmp_path: Path) -> None:
    """It knows what came out, but not what went in; and its lanes have names."""
    of_memory(tmp_path / "report.sqlite", [("cudaMalloc_v3020", 0x7F0000000000, 64, 0, 0)],
              f"{WAITS_OF_NSYS}INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES "
              f"(600, 700, 0, 7, 5, {4711 << 24}, 2)")  # fmt: skip
    log = log_of(tmp_path / "report.sqlite")
    text = run_gdbcuda("log", "export", log).stdout
    (tmp_path / "trace.json").write_text(text)
    again = log_of(tmp_path / "trace.json", "again.jsonl")
    found = [[(one["arguments"], one["out"]) for one in shown(one)] for one in (log, again)]
    assert found[0] == found[1] and found[0][0] == ({"size": 64, "device": 0}, {"devPtr": "0x7f0000000000"})
    assert '"name":"GPU waits of thread 4712"' in again.read_text()


def test_how_far_it_has_come_is_shown_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five million events take minutes: half of the time they are read, half of it the log is written."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "OFTEN", 0.0)
    export_of_nsys(tmp_path / "report.sqlite")
    calls = importing.read(str(tmp_path / "report.sqlite"))
    assert " 20 %" in terminal.getvalue() and "100 %" in terminal.getvalue()
    terminal.truncate(0)
    calls.write(str(tmp_path / "calls.jsonl"), "")
    assert "100 %" in terminal.getvalue() and terminal.getvalue().endswith("\r")


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
    log = log_of(tmp_path / "report.sqlite")
    with sqlite3.connect(tmp_path / "report.sqlite") as made:
        made.executescript("""
            CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId = 2;
            DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId = 2;
        """)
    other = log_of(tmp_path / "report.sqlite", "other.jsonl")
    assert shown(log) == shown(other)


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
    on_gpu = run_gdbcuda("log", "gpu", log).stdout
    assert on_gpu.startswith("2 kernels, 2 graphs\n"), on_gpu
    for pid in (100, 200):
        assert f"\nGPU 0 of process {pid}: 0.85 us from its first work to its last, busy 88 %" in on_gpu, on_gpu


def test_the_memory_that_nsys_knows_of(tmp_path: Path) -> None:
    of_memory(tmp_path / "report.sqlite", [
        ("cudaMalloc_v3020", 0x7F0000000000, 1 << 30, 0, 0), ("cudaMallocPitch_v3020", 0x7F0100000000, 1 << 20, 1, 0),
        ("cudaMallocArray_v3020", 0x7F0200000000, 65536, 0, 0), ("cudaMallocAsync_v11020", 0x7F0300000000, 512, 0, 0),
        ("cudaFree_v3020", 0x7F0000000000, 1 << 30, 0, 1), ("cuMemFree_v2", 0x7F0300000000, 512, 0, 1)],
        "UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET correlationId = 99 WHERE bytes = 512;"
        "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (9, 0, 0, 0, 4096, 0, 4096, 5, 0, 'table', 0)")  # fmt: skip
    done, log = imported(tmp_path, "again.sqlite", (tmp_path / "report.sqlite").read_bytes())
    assert "2 x memory that no call of the trace hands out or takes back" in done.stderr
    text = run_gdbcuda("log", "memory", "--view", "live", "--json", log).stdout
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


def test_an_export_whose_tables_compute_for_ever(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "bad.sqlite") as made:
        made.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS WITH RECURSIVE n(x) AS "
                     "(SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start FROM n")  # fmt: skip
    done, _ = imported(tmp_path, "again.sqlite", (tmp_path / "bad.sqlite").read_bytes())
    assert done.returncode == 2 and "no table" in done.stderr
