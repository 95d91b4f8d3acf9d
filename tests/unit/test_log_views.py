"""What `gdbcuda log` makes of a file: summary, tree, changes, timeline, export, diff, and how fast."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from log_files import alloc_of, append, call, failed, pointer, run, write

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.calls.text import duration, value
from gdbcuda.log import cli as cli_module
from gdbcuda.log import summary, view_data
from gdbcuda.log.progress import Progress
from gdbcuda.shell import cli

MAIN = {0x400: {"function": "main", "source": "a.c:3", "object": "/bin/a", "layer": "app"}}


def copy(number: int, kind: str = "cudaMemcpyHostToDevice", **fields: Any) -> Call:
    return call(number, "cudaMemcpy", {"dst": "0x10", "src": "0x20", "count": 4096, "kind": kind},
                **{"result": "cudaSuccess", "caller": 0x400, **fields})  # fmt: skip


def nested() -> list[Call]:
    """The runtime's copy, which the hook and the driver copy again: 4 KiB, once."""
    return [copy(0, end=0.009, layer="runtime"),
            call(1, "cuMemcpyHtoD_v2", {"ByteCount": 4096}, parent=0, depth=1, end=0.006),
            call(2, "cuMemcpyHtoD_v2", {"ByteCount": 4096}, parent=1, depth=2, end=0.004, layer="driver")]  # fmt: skip


def test_summary(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [*nested(), copy(20, "cudaMemcpyDeviceToHost", thread=2),
             failed(30, "cudaMalloc", 2, "cudaErrorMemoryAllocation", arguments={"size": 1 << 40}),
             call(31, "cudaMalloc", {"size": 1000}, out={"devPtr": {"address": "0x1", "value": "0x2"}}),
             call(40, "cuInit", ended="unwound")]  # fmt: skip
    text = run(capsys, "summary", write(tmp_path / "log", calls, MAIN))
    rows = [line.split() for line in text.splitlines()]
    assert text.startswith("7 calls of 4 functions in 2 threads")
    assert ["cudaMalloc", "hook", "cudaErrorMemoryAllocation", "1"] in rows
    assert ["cudaMalloc", "hook", "2", "1"] in [row[:4] for row in rows]
    assert "host to device  4096 [4.00 KiB]" in text and "device to host  4096 [4.00 KiB]" in text
    assert "cudaMalloc      1000" in text
    assert "main at a.c:3" in text and "(unwound)" in text


def test_a_summary_fits_a_screen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = [name for name, one in api.load().functions.items() if one.api == "driver"][:40]
    calls = [failed(n, name, 2, "CUDA_ERROR_OUT_OF_MEMORY", caller=n) for n, name in enumerate(names, 1)]
    path = write(tmp_path / "log", calls)
    text = run(capsys, "summary", path)
    assert text.count("\n") < 50 and "... and 25 more: --all\n" in text and text.count("... and 34 more: --all") == 2
    whole = run(capsys, "summary", path, "--all")
    assert " more" not in whole and all(f"{name} " in whole for name in names)


def test_bytes_are_counted_once_whatever_is_left_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The call in the middle is not asked for: what it has made is still inside the outermost one."""
    path = write(tmp_path / "log", nested(), MAIN)
    text = run(capsys, "summary", path, "--in", "runtime", "--in", "driver")
    assert text.startswith("2 calls of 2 functions") and "host to device  4096 [4.00 KiB]" in text


def test_times_are_the_quantiles(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [call(n, "cuInit", end=n / 1000 + n * 1e-6) for n in range(1, 101)]
    text = run(capsys, "summary", write(tmp_path / "log", calls))
    row = next(line for line in text.splitlines() if line.startswith("cuInit"))
    assert row.split()[2:] == ["100", "5.05", "ms", "1", "us", "51", "us", "100", "us", "100", "us"]


def test_times_as_data() -> None:
    """In seconds; a function of which no call has returned has none."""
    one = summary.FunctionSummary()
    one.count, one.failures = 100, Counter({"CUDA_ERROR_OUT_OF_MEMORY": 2})
    one.times.extend(n * 1e-3 for n in range(100, 0, -1))
    assert view_data.function(one) == {"calls": 100, "failures": {"CUDA_ERROR_OUT_OF_MEMORY": 2}, "total": 5.05,
                                       "min": 0.001, "median": 0.051, "p99": 0.1, "max": 0.1}  # fmt: skip
    assert view_data.function(summary.FunctionSummary()) == {"calls": 0, "failures": {}}


def test_a_narrow_terminal_has_fewer_columns_of_times() -> None:
    """Not a line for each cell."""
    rows = [(f"cuMemcpy{n}DtoHAsync_v2", "driver", 1000, "", *["12.3 ms"] * 5) for n in range(3)]
    for width, titles in ((None, "max"), (120, "p99"), (80, "median"), (60, "total")):
        head = summary.narrowed(rows, width).splitlines()
        assert titles in head[0] and head[0].startswith("function") and len(head) >= 5
        assert width is None or max(map(len, head)) <= width
        assert ("--json" in head[-1]) == (width in (80, 60))


def test_launches_by_kernel(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    size = {f"{what}Dim{axis}": n for what, n in (("grid", 64), ("block", 8)) for axis in "XYZ"}
    dims = {"gridDim": {"x": 4, "y": 1, "z": 1}, "blockDim": {"x": 128, "y": 1, "z": 1}}
    calls = [
        call(0, "cuModuleGetFunction", {"name": "saxpy"}, out={"hfunc": {"address": "0x1", "value": "0x77"}}),
        call(1, "cuLaunchKernel", {"f": "0x77", "sharedMemBytes": 48, **size}),
        call(2, "cuLaunchKernel", {"f": "0x77", "sharedMemBytes": 48, **size}),
        call(3, "cudaLaunchKernel", {"func": "0x500", "sharedMem": 0, **dims}),
        call(4, "__cudaGetKernel", {"unnamed1": "0x500"}, out={"unnamed0": {"address": "0x1", "value": "0x88"}}),
        call(5, "__cudaLaunchKernel", {"kernel": "0x88", "sharedMem": 0, **dims}),
    ]
    text = run(capsys, "summary", write(tmp_path / "log", calls, {0x500: {"function": "add(float*, int)"}}))
    rows = [line.split("  ") for line in text.splitlines()]
    shown = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert ["saxpy", "64x64x64", "8x8x8", "48", "2"] in shown
    assert ["add(float*, int)", "4x1x1", "128x1x1", "0", "2"] in shown


def test_tree_and_filters(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", [*nested(), copy(20, thread=2)], MAIN)
    lines = run(capsys, "tree", log).splitlines()
    assert [line.split("(")[0].split("  ")[-1].strip() for line in lines] == [
        "cudaMemcpy", "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2", "cudaMemcpy"]  # fmt: skip
    assert lines[0].endswith("by main at a.c:3")
    assert len(run(capsys, "show", log).splitlines()) == 4
    assert len(run(capsys, "show", log, "--thread", "2").splitlines()) == 1
    assert len(run(capsys, "show", log, "--function", "cuMemcpyHtoD").splitlines()) == 2
    assert len(run(capsys, "show", log, "--in", "driver").splitlines()) == 1
    both = run(capsys, "show", log, "--in", "hook", "--in", "driver")
    assert len(both.splitlines()) > 1 and run(capsys, "show", log, "--in", "hook,driver") == both
    assert run(capsys, "show", log, "--failed") == ""


def test_answered_requests_are_told_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """PyTorch makes 1,300 of them. One that is answered with nothing is told by itself."""
    def asks(number: int, answer: str | None, **fields: Any) -> Call:
        out = {"pfn": {"address": "0x10", "value": answer}}
        return call(number, "cuGetProcAddress_v2", {"symbol": f"cu{number // 2}"}, out=out, **fields)

    pairs = [(0, "0x100"), (2, "0x101"), (4, None), (6, "0x102")]
    calls = [one for number, told in pairs for one in
             (asks(number, told, end=number + 2.0), asks(number + 1, f"{number:#x}", parent=number, layer="driver"))]
    text = run(capsys, "changes", write(tmp_path / "log", calls))
    assert text.count("cuGetProcAddress_v2(") == 2 and "x 3, #0 ... #6" in text and "told NULL" in text
    assert "4 of 4 requests for function addresses got another answer" in text


def test_changes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def alloc(number: int, size: int, **fields: Any) -> Call:
        return call(number, "cuMemAlloc_v2", {"dptr": {"address": f"{number:#x}"}, "bytesize": size}, **fields)

    def asks(number: int, name: str, answer: str, **fields: Any) -> Call:
        out = {"pfn": {"address": f"{number:#x}", "value": answer}}
        return call(number, "cuGetProcAddress_v2", {"symbol": name}, out=out, **fields)

    calls = [
        alloc(0, 64, end=0.002), alloc(1, 64, parent=0, layer="driver"),
        alloc(2, 64, end=0.004),
        alloc(3, 128, parent=2, layer="driver", status=2, result="CUDA_ERROR_OUT_OF_MEMORY"),
        alloc(4, 64, end=0.006), call(5, "cuCtxGetDevice", parent=4, layer="driver"),
        call(7, "cuGetProcAddress_v2", {"symbol": "cuInit"}),
        asks(8, "cuMemFree", "0x100", end=0.0098), asks(9, "cuMemFree", "0x200", parent=8, layer="driver"),
        asks(10, "cuCtxGetDevice", "0x3", end=0.0118), asks(11, "cuCtxGetDevice", "0x3", parent=10, layer="driver"),
    ]  # fmt: skip
    text = run(capsys, "changes", write(tmp_path / "log", calls))
    assert "argument bytesize: 64, passed on as 128" in text
    assert "result: CUDA_ERROR_OUT_OF_MEMORY became CUDA_SUCCESS" in text
    assert "never forwarded" in text and "extra call: driver cuCtxGetDevice()" in text
    assert "1 of 3 requests for function addresses got another answer" in text
    assert 'symbol="cuMemFree"' in text and "out pfn: got 0x200, told 0x100" in text
    assert "cuInit" not in text and 'symbol="cuCtxGetDevice"' not in text
    assert text.splitlines()[-2] == "2 of 3 calls of the hook library did more than pass the call on."


def test_what_repeats_is_told_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def alloc(number: int, size: int, passed: int) -> list[Call]:
        outer = call(number, "cuMemAlloc_v2", {"bytesize": size}, end=(number + 1.8) / 1000, caller=0x400)
        return [outer, call(number + 1, "cuMemAlloc_v2", {"bytesize": passed}, parent=number, layer="driver")]

    calls = [one for n in range(0, 40, 2) for one in alloc(n, 64, 96 if n % 4 else 128)]
    path = write(tmp_path / "log", calls, MAIN)
    text = run(capsys, "changes", path)
    assert [line.strip() for line in text.splitlines() if not line.startswith("#")] == [
        "argument bytesize: 64, passed on as 128", "x 10, #0 ... #36",
        "argument bytesize: 64, passed on as 96", "x 10, #2 ... #38",
        "20 of 20 calls of the hook library did more than pass the call on."]  # fmt: skip
    assert len(data_of(capsys, "changes", path)) == 20


def test_of_too_many_kinds_none_is_lost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [call(n, "cuMemAlloc_v2", {"bytesize": n}, caller=n) for n in range(2500)]
    text = run(capsys, "changes", write(tmp_path / "log", calls))
    assert text.count("never forwarded") == 2500 and "2500 of 2500 calls" in text


def test_names_are_short_in_tables_and_whole_when_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    places = {at: {"function": f"fill<{'std::pair<int, float>, ' * 30}{kind}>(int)", "source": "a.c:3"}
              for at, kind in ((0x400, "int"), (0x500, "long"))}  # fmt: skip
    calls = [alloc_of(0, "0x1000", caller=0x400), alloc_of(1, "0x2000", caller=0x500)]
    path = write(tmp_path / "log", calls, places)
    assert run(capsys, "summary", path).count("fill<...>(int) at a.c:3") == 2, "two functions, however short"
    assert "std::pair" not in run(capsys, "memory", path, "--view", "leaks")
    for view in (("summary",), ("memory", "--view", "leaks")):
        assert places[0x400]["function"] in run(capsys, *view[:1], path, *view[1:], "--wide")


def test_a_kernel_of_many_shapes_is_one_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    size = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "YZ"}
    calls = [call(n, "cuLaunchKernel", {"f": "0x77", "sharedMemBytes": 0, "blockDimX": 8, "gridDimX": n + 1, **size})
             for n in range(5)]  # fmt: skip
    text = run(capsys, "summary", write(tmp_path / "log", calls))
    assert any(line.split() == ["0x77", "5", "shapes", "5"] for line in text.splitlines())


def test_a_value_outside_of_an_enum_reads_as_at_a_stop(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [call(1, "cudaMemcpy", {"kind": 77}, status=-1, result=-1),
             call(2, "cuDeviceGetAttribute", {"attrib": "CU_DEVICE_ATTRIBUTE_CLOCK_RATE", "dev": 0},
                  out={"pi": {"address": "0x8", "value": 5}}),
             call(3, "cuPointerGetAttribute", {"attribute": 999})]  # fmt: skip
    text = run(capsys, "show", write(tmp_path / "log", calls))
    assert "kind=77 (not in cudaMemcpyKind)) = -1 (not in cudaError_t)  " in text
    assert "attribute=999 (not in CUpointer_attribute)" in text
    assert "dev=0, pi=0x8 -> 5) = CUDA_SUCCESS" in text


def test_timeline_fits_and_shows_failures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    calls = [call(n, "cudaMalloc", {"size": 8}, end=(n + 10) / 1000) for n in range(0, 500, 10)]
    calls += [copy(1005, thread=2), failed(1500, "cudaMalloc", 2, "cudaErrorMemoryAllocation", thread=2)]
    first, second, legend = run(capsys, "timeline", write(tmp_path / "log", calls)).splitlines()
    assert max(map(len, (first, second))) <= 60 and len(first) > 40
    assert set(first.split()[1]) == {"A", "."} and set(second.split()[1]) == {".", "C", "!"}
    assert first.split()[1].rstrip(".") in "A" * 60
    assert "A=allocate" in legend and "!=failed" in legend


def test_each_letter_of_a_timeline_has_its_word(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A call a millisecond; the last one is of nobody's API."""
    names = ("cuMemAlloc_v2", "cuMemFree_v2", "cudaMemcpy", "cudaMemset", "cudaLaunchKernel", "cudaStreamCreate",
             "cudaEventCreate", "cuModuleLoad", "cuCtxCreate_v2", "cuInit", "cuDeviceGet", "cuMemGetInfo_v2",
             "mine")  # fmt: skip
    calls = [call(n, name, {}, end=(n + 1) / 1000) for n, name in enumerate(names)]
    lane, legend = run(capsys, "timeline", write(tmp_path / "log", calls)).splitlines()
    assert "".join(dict.fromkeys(lane.split()[1])) == "AFCSKsemcidqo"
    assert legend.partition("; ")[2] == (
        "A=allocate, F=free, C=copy, S=fill, K=launch, s=stream, e=event, m=module, c=context, i=init, d=device, "
        "q=memory query, o=other, .=nothing")  # fmt: skip


def test_chrome_export(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = json.loads(run(capsys, "export", write(tmp_path / "log", nested(), MAIN)))["traceEvents"]
    slices = {e["args"]["number"]: e for e in found if e["ph"] == "X"}
    assert slices[0]["ts"] == 0 and slices[0]["dur"] == 9000 and slices[0]["cat"] == "runtime"
    assert all(slices[0]["ts"] <= e["ts"] and e["ts"] + e["dur"] <= 9000 for e in slices.values())
    assert [(e["ph"], e["ts"]) for e in found if e["ph"] in "sf"] == [("s", 0), ("f", 2000)]
    assert [e["args"]["name"] for e in found if e["ph"] == "M"] == ["T1"]


def test_chrome_export_has_memory_failures_and_the_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [alloc_of(0, "0x1000", pid=7), failed(1, "cudaMalloc", 2, "cudaErrorMemoryAllocation", pid=7),
             call(2, "cudaFree", {"devPtr": "0x1000"}, layer="hook", pid=7)]  # fmt: skip
    program = {"ts": 0, "phase": "M", "name": "process", "details": {"inferior": 1, "pid": 7, "image": "/bin/train"}}
    path = append(write(tmp_path / "log", calls), json.dumps(program) + "\n")
    found = json.loads(run(capsys, "export", path))["traceEvents"]
    assert [(one["args"]["bytes"], one["pid"]) for one in found if one["ph"] == "C"] == [(64, 7), (0, 7)]
    (mark,) = [one for one in found if one["ph"] == "i"]
    assert mark["name"] == "cudaMalloc: cudaErrorMemoryAllocation" and mark["s"] == "t" and mark["pid"] == 7
    assert [one["args"]["name"] for one in found if one["name"] == "process_name"] == ["train"]


def test_csv_export(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = run(capsys, "export", "--format", "csv", write(tmp_path / "log", nested(), MAIN))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["number"] for row in rows] == ["2", "1", "0"] and rows[1]["parent"] == "0"
    assert rows[2]["base"] == "cudaMemcpy" and rows[2]["caller"] == "main at a.c:3" and rows[2]["status"] == "0"


def test_several_logs_in_one_export(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Processes of the same number are told apart, and so are arrows; each row of a table says its file."""
    calls = [copy(0, layer="app", pid=7, end=0.009), call(1, "cuMemcpyHtoD_v2", parent=0, layer="driver", pid=7)]
    logs = [write(tmp_path / name, calls) for name in ("a", "b")]
    found = json.loads(run(capsys, "export", *logs))["traceEvents"]
    names = {one["args"]["name"]: one["pid"] for one in found if one["name"] == "process_name"}
    assert set(names) == set(map(str, logs)) and set(names.values()) == {7, 8}
    assert [one["pid"] for one in found if one["ph"] == "X"] == [7, 7, 8, 8]
    assert len({one["id"] for one in found if one["ph"] == "s"}) == 2
    rows = list(csv.DictReader(run(capsys, "export", "--format", "csv", *logs).splitlines()))
    assert [(row["file"], row["number"]) for row in rows] == [(str(log), n) for log in logs for n in "10"]


def test_memory_views(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", [alloc_of(0, "0x1000", caller=0x400)], MAIN)
    assert "Not freed: 1 block: device 64 in 1" in run(capsys, "memory", log, "--view", "leaks")
    assert "#0" in run(capsys, "memory", log, "--view", "0x1010")
    assert cli.main(["log", "memory", str(log), "--view", "nonsense"]) == 2
    assert "or an address, not 'nonsense'" in capsys.readouterr().err


def data_of(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(capsys, *words, "--json").splitlines()]


def test_every_view_as_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = [*nested(), call(20, "cuMemAlloc_v2", {"bytesize": 64}, caller=0x400, out=pointer("0x7f00")),
             failed(30, "cuMemFree_v2", 1, "CUDA_ERROR_INVALID_VALUE", arguments={"dptr": "0x7f10"})]  # fmt: skip
    path = write(tmp_path / "log", calls, MAIN)
    shown = data_of(capsys, "show", path)
    assert [one["number"] for one in shown] == [0, 1, 2, 20, 30]
    assert shown[3]["caller"] == {"address": "0x400", "function": "main", "object": "/bin/a", "layer": "app",
                                  "source": "a.c:3"}  # fmt: skip
    assert shown[3]["seconds"] == 0.0005 and shown[3]["arguments"] == {"bytesize": 64}
    assert [(one["number"], one["depth"], one["parent"]) for one in data_of(capsys, "tree", path, "--last", 3)] == [
        (0, 0, None), (1, 1, 0), (2, 2, 1), (20, 0, None), (30, 0, None)]  # fmt: skip
    assert data_of(capsys, "changes", path)[0]["changes"] == [{"what": "never forwarded"}]
    (summary,) = data_of(capsys, "summary", path)
    assert summary["calls"] == 5 and summary["functions"][-1]["failures"] == {"CUDA_ERROR_INVALID_VALUE": 1}
    (memory,) = data_of(capsys, "memory", path)
    assert [(one["bytes"], one["site"]["source"]) for one in memory["live"]] == [(64, "a.c:3")]
    assert [one["kind"] for one in memory["problems"]] == ["interior pointer"]
    (lanes,) = data_of(capsys, "timeline", path)
    assert {kind for cell in lanes["threads"]["1"] for kind in cell} == {"copy", "allocate", "failed"}
    assert data_of(capsys, "diff", path, path)[0]["alike"] == 3


def test_data_of_several_logs_names_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = [write(tmp_path / name, [call(0, "cuInit")]) for name in "ab"]
    assert [one["file"] for one in data_of(capsys, "show", *paths)] == [str(path) for path in paths]


def test_the_words_of_the_prompt(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "log", nested(), MAIN)
    assert run(capsys, "show", path, "--tree") == run(capsys, "tree", path)
    assert run(capsys, "show", path, "--changed") == run(capsys, "changes", path)
    assert cli.main(["log", "show", str(path), "cuMemAlloc"]) == 2
    assert "a function is written --function cuMemAlloc here" in capsys.readouterr().err
    assert cli.main(["log", "memory", str(path), "leaks"]) == 2
    assert "a view is written --view leaks here" in capsys.readouterr().err


def test_the_last_calls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "log", [call(number, "cuInit") for number in range(5)])
    assert [line.split()[0] for line in run(capsys, "show", path, "--last", 2).splitlines()] == ["#3", "#4"]


@pytest.mark.parametrize("view", ["show", "export", "summary"])
def test_a_full_disk_is_one_line(tmp_path: Path, view: str) -> None:
    path = write(tmp_path / "log", nested() * 200)
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "gdbcuda.shell.cli", "log", view, str(path)],
                              stdout=full, check=False, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "gdbcuda: cannot write the output: No space left on device\n")


def test_a_log_that_comes_through_a_pipe(tmp_path: Path) -> None:
    text = write(tmp_path / "log", nested(), MAIN).read_bytes()
    done = subprocess.run([sys.executable, "-m", "gdbcuda.shell.cli", "log", "summary", "-"],
                          input=text, capture_output=True, check=True)  # fmt: skip
    assert done.stdout.startswith(b"3 calls of 2 functions") and not done.stderr


def test_what_cannot_be_read_is_said_on_stderr(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = write(tmp_path / "log", nested())
    log.write_text(log.read_text() + "rubbish")
    assert cli.main(["log", "show", str(log)]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 3 and "1 x the last line is cut off" in shown.err
    assert cli.main(["log", "show", str(tmp_path / "none")]) == 2
    assert "cannot read" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_progress_bar_for_those_who_wait_at_a_terminal() -> None:
    for stream, is_seen in ((Terminal(), True), (io.StringIO(), False)):
        progress = Progress(100, stream)
        progress(10)
        assert stream.getvalue() == ""  # not at once
        progress.shown_at = 0.0
        progress(40)
        progress.close()
        assert ("50 %" in stream.getvalue()) == is_seen


@pytest.mark.parametrize("view", cli_module.VIEWS)
@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_bar_is_gone_where_a_line_is_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, view: str, is_terminal: bool
) -> None:
    """Every view has a bar, but what goes to another program as it is read has none on the same terminal."""
    monkeypatch.setattr("gdbcuda.log.progress.PATIENCE", 0.0)
    monkeypatch.setattr("gdbcuda.log.progress.OFTEN", 0.0)
    monkeypatch.setattr("gdbcuda.calls.reader.CHUNK", 500)
    screen, file = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    path = write(tmp_path / "log", nested())
    also = {"diff": [str(path)], "report": ["-o", str(tmp_path / "page")]}
    for out in (file, screen if is_terminal else io.StringIO()):
        screen.truncate(0)
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main(["log", view, str(path), *also.get(view, []), "--color", "never"]) == 0
    seen = screen.getvalue().lstrip("\0")
    assert ("%" in seen) != (is_terminal and view == "export")
    assert re.sub(r"\r[^\r\n]*(?=\r)|\r", "", seen) == (file.getvalue() if is_terminal else "")


@pytest.mark.parametrize(
    ("data", "text"),
    [(None, "(not known here)"), (True, "true"), (7, "7"), ("A|B", "A|B"), ([1, "x"], "[1, x]"),
     ({"x": 1, "p": None}, "{x=1, p=NULL}"), ({"address": "0x1", "unreadable": True}, "0x1 -> (unreadable)"),
     ({"address": "0x1", "value": None}, "0x1 -> NULL"), ({"address": "0x1"}, "0x1"), (1.5, "1.5")],
)  # fmt: skip
def test_values(data: Any, text: str) -> None:
    assert value(data) == text


# VmHWM, not ru_maxrss: that one still counts the process that was forked before the exec
SUMMARISE = """
import re, sys
from gdbcuda.shell import cli
cli.main(sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1))
"""


def test_a_long_log_streams(tmp_path: Path) -> None:
    """100,000 calls in memory that does not grow with the log. (Its time is measured in scripts/bench.)"""
    lines = write(tmp_path / "log", [copy(n) for n in range(200)]).read_text().splitlines(keepends=True)
    with open(tmp_path / "log", "w") as file:
        file.write(lines[0])
        for _ in range(500):
            file.writelines(lines[1:])
    line = [sys.executable, "-c", SUMMARISE, "log", "summary", str(tmp_path / "log")]
    done = subprocess.run(line, check=True, capture_output=True, text=True, timeout=120)
    assert "100000 calls" in done.stdout
    assert int(done.stdout.split()[-1]) < 100 * 1024, "KiB"


def twice(number: int, size: int, passed_on: int, own: bool = False) -> list[Call]:
    """The program's allocation in the hook, and what the driver is asked for; perhaps the hook has one of its own."""
    outer = call(number, "cuMemAlloc_v2", {"bytesize": size}, end=(number + 8) / 1000, out=pointer("0x2000"))
    mine = call(
        number + 1, "cuMemAlloc_v2", {"bytesize": 64}, parent=number, depth=1, layer="driver", out=pointer("0x9000")
    )
    behind = call(number + 2, "cuMemAlloc_v2", {"bytesize": passed_on}, parent=number, depth=1, layer="driver",
                  out=pointer("0x2000"))  # fmt: skip
    return [outer, *([mine] if own else []), behind]


def test_a_layer_by_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What the hook allocates for itself is seen by the driver alone; and is not taken for what it passed on."""
    one, other = write(tmp_path / "a", twice(0, 16, 16)), write(tmp_path / "b", twice(0, 16, 32, own=True))
    assert "1 block: device 16 in 1" in run(capsys, "memory", other)
    assert "2 blocks: device 96 in 2" in run(capsys, "memory", other, "--in", "driver")
    assert "No difference" in run(capsys, "diff", one, other)
    assert "bytesize is 16 in the first, 64 in the second" in run(capsys, "diff", one, other, "--in", "driver")
    changes = run(capsys, "changes", other)
    assert (
        "argument bytesize: 16, passed on as 32" in changes
        and "extra call: driver cuMemAlloc_v2(bytesize=64" in changes
    )


def test_memory_from_a_size_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is smaller is counted, and told of where nothing else is left."""
    log = str(write(tmp_path / "log", [alloc_of(0, "0x10000", 4096), alloc_of(1, "0x20000", 1 << 20)]))
    for view in ("live", "leaks", "by-site"):
        assert cli.main(["log", "memory", log, "--view", view, "--least", "0x1001"]) == 0
        shown = capsys.readouterr().out
        assert "1048576 [1.00 MiB]" in shown and "Left out: 1 block of less than 4097 [4.00 KiB]." in shown
        assert cli.main(["log", "memory", log, "--view", view, "--least", "1G"]) == 0
        assert capsys.readouterr().out == "Left out: 2 blocks of less than 1073741824 [1.00 GiB].\n"
    assert cli.main(["log", "memory", log, "--view", "peak", "--least", "1G"]) == 2
    assert "--least is for live, leaks, by-site" in capsys.readouterr().err


def test_long_times_are_plain_numbers() -> None:
    assert [duration(one) for one in (0.00123, 4.56, 999.4, 1040.0, 86400.0)] == [
        "1.23 ms", "4.56 s", "999 s", "1040 s", "86400 s"]  # fmt: skip
