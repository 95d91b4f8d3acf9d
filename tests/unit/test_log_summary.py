"""`gdbcuda log summary`: counts, times, bytes and kernels, also of a log that does not fit into memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from log_files import MAIN, alloc_of, call, copy, failed, nested, run, write

from gdbcuda import api
from gdbcuda.calls.text import duration
from gdbcuda.log import view_data
from gdbcuda.log.views import summary
from gdbcuda.text import render


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


def test_who_has_asked_behind_a_header(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    header = {"function": "cudaMalloc<float>(float**, unsigned long)", "object": "/bin/app", "layer": "app",
              "source": "cuda_runtime.h:879"}  # fmt: skip
    own = {"function": "grow", "object": "/bin/app", "layer": "app", "source": "a.c:9"}
    path = write(tmp_path / "log", [call(1, "cudaMalloc", {"size": 4}, caller=0x600, stack=[0x600, 0x700])],
                 {0x600: header, 0x700: own})  # fmt: skip
    assert "by grow at a.c:9" in run(capsys, "show", path)
    assert re.search(r"^grow at a.c:9 +1$", run(capsys, "summary", path), re.MULTILINE)


def test_what_is_no_constant_is_told_as_in_the_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong = {"ended": "", "end": 0.5, "status": -1, "result": -1}
    path = write(tmp_path / "log", [call(1, "cuMemAlloc_v2", {"bytesize": 4}, **wrong)])
    assert "= -1 (not in CUresult)" in run(capsys, "show", path)
    assert re.search(r"^cuMemAlloc_v2 +\S+ +-1 \(not in CUresult\) +1$", run(capsys, "summary", path), re.MULTILINE)
    assert json.loads(run(capsys, "summary", path, "--json"))["functions"][0]["failures"] == {"-1": 1}


def test_a_summary_fits_a_screen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = [name for name, one in api.load().functions.items() if one.api == "driver"][:40]
    calls = [failed(n, name, 2, "CUDA_ERROR_OUT_OF_MEMORY", caller=n) for n, name in enumerate(names, 1)]
    path = write(tmp_path / "log", calls)
    text = run(capsys, "summary", path)
    assert text.count("\n") < 50 and "... and 25 more: --all\n" in text and text.count("... and 34 more: --all") == 2
    whole = run(capsys, "summary", path, "--all")
    assert " more" not in whole and all(f"{name} " in whole for name in names)


def test_of_long_tables_there_are_few_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = [name for name, one in api.load().functions.items() if one.api == "driver"][:40]
    calls = [failed(n, name, 2, "CUDA_ERROR_OUT_OF_MEMORY", caller=n) for n, name in enumerate(names, 1)]
    calls += [copy(100), copy(101, "cudaMemcpyDeviceToHost"),
              call(102, "cudaMalloc", {"size": 1000}, out={"devPtr": {"address": "0x1", "value": "0x2"}})]  # fmt: skip
    geometry = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "XYZ"}
    for n in range(9):
        mangled = f"_ZN2at6kernelIL{n}…"
        calls += [call(200 + 2 * n, "cuModuleGetFunction", {"name": mangled}, layer="driver",
                       out={"hfunc": {"address": "0x5", "value": hex(4096 + n)}}),
                  call(201 + 2 * n, "cuLaunchKernel", {"f": hex(4096 + n), **geometry}, layer="driver")]  # fmt: skip
    path = write(tmp_path / "log", calls)
    text = run(capsys, "summary", path)
    assert text.count("\n") <= 40 and text.count(" more: --all") == 4
    assert "\ncopied: host to device 4096 [4.00 KiB], device to host 4096 [4.00 KiB]\n" in text
    assert "\nallocated by: cudaMalloc 1000\n" in text
    assert text.count("\nat::kernel<...>  1x1x1") == 3  # each is another kernel
    assert "copied          bytes" in run(capsys, "summary", path, "--all")


def test_with_every_table_it_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [name for name, one in api.load().functions.items() if one.api == "driver" and len(name) > 22][:12]
    calls = [failed(n, name, 2, "CUDA_ERROR_OUT_OF_MEMORY", caller=n) for n, name in enumerate(names, 1)]
    calls += [copy(100), call(102, "cudaMalloc", {"size": 9}, out={"devPtr": {"address": "0x1", "value": "0x2"}})]
    geometry = {f"{what}Dim{axis}": 1 for what in ("grid", "block") for axis in "XYZ"}
    calls += [call(200 + n, "cuLaunchKernel", {"f": hex(n), **geometry}, layer="driver") for n in range(1, 9)]
    monkeypatch.setattr(render, "screen", lambda: 62)
    text = run(capsys, "summary", write(tmp_path / "log", calls))
    assert text.count("\n") <= 40 and text.count(" more: --all") == 4 and max(map(len, text.splitlines())) <= 62


def test_the_time_is_from_the_first_beginning(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An outer call begins first and ends last."""
    calls = [call(1, "cudaMalloc", start=0.0, end=0.5), call(2, "cuMemAlloc_v2", parent=1, depth=1, start=0.2, end=0.3)]
    assert ", 500 ms\n" in run(capsys, "summary", write(tmp_path / "log", calls))


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
    for n in range(100, 0, -1):
        one.times.add(n * 1e-3)
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


def test_long_times_are_plain_numbers() -> None:
    assert [duration(one) for one in (0.00123, 4.56, 999.4, 1040.0, 86400.0)] == [
        "1.23 ms", "4.56 s", "999 s", "1040 s", "86400 s"]  # fmt: skip
