"""Calls that go into a graph while a stream is captured, and libraries through which a line of Python has asked."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import interpreters_here
import log_files
import pytest
from forking_gdbcuda import run_gdbcuda
from log_files import call, failed
from traced_programs import Trace, needs_recorder, trace

from gdbcuda.calls.record import Call

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder
A, B, EVENT = "0x55a0", "0x55b0", "0x55e0"
HOOK = """
typedef void *stream;
int cuStreamBeginCapture_v2(stream s, int mode) { (void)s, (void)mode; return 0; }
int cuStreamEndCapture(stream s, void **graph) { (void)s; *graph = graph; return 0; }
"""
PROGRAM = """
#include "gdbcuda_api.h"
int main(void)
{
    CUstream s; CUgraph g; CUcontext c; CUdeviceptr p;
    cuInit(0); cuDevicePrimaryCtxRetain(&c, 0); cuCtxSetCurrent(c); cuMemAlloc_v2(&p, 4096); cuStreamCreate(&s, 0);
    cuMemsetD8Async(p, 1, 16, s);
    cuStreamBeginCapture_v2(s, 0); cuMemsetD8Async(p, 2, 16, s); cuMemsetD8Async(p, 3, 16, 0);
    cuStreamEndCapture(s, &g);
    return cuMemsetD8Async(p, 4, 16, s);
}
"""


def captured(folder: Path, *calls: Call) -> dict[int, str]:
    path = log_files.write(folder / "calls.jsonl", list(calls))
    done = run_gdbcuda("log", "show", "--json", path, check=True)
    return {one["number"]: one["captured"] for one in map(json.loads, done.stdout.splitlines()) if "captured" in one}


def copy(number: int, stream: object, **more: object) -> Call:
    return call(number, "cuMemcpyAsync", {"hStream": stream}, **more)


def begin(number: int, stream: str = A) -> Call:
    return call(number, "cuStreamBeginCapture_v2", {"hStream": stream})


def end(number: int, stream: str = A) -> Call:
    return call(number, "cuStreamEndCapture", {"hStream": stream})


def test_from_begin_to_end_on_that_stream(tmp_path: Path) -> None:
    found = captured(tmp_path, copy(0, A), begin(1), copy(2, A), copy(3, B), copy(4, None), end(5), copy(6, A))
    assert found == {2: A}


def test_a_stream_that_waits_for_a_captured_one_is_captured_too(tmp_path: Path) -> None:
    found = captured(
        tmp_path, begin(0), call(1, "cuEventRecord", {"hEvent": EVENT, "hStream": A}), copy(2, B),
        call(3, "cuStreamWaitEvent", {"hStream": B, "hEvent": EVENT}), copy(4, B), end(5), copy(6, B),
        call(7, "cuStreamWaitEvent", {"hStream": B, "hEvent": EVENT}),
    )  # fmt: skip
    assert found == {1: A, 3: A, 4: A}


def test_what_is_inside_a_captured_call_and_a_struct(tmp_path: Path) -> None:
    outer = call(1, "cudaLaunchKernelExC", {"config": {"address": "0x7f", "value": {"stream": A, "numAttrs": 0}}})
    inner = call(2, "cuLaunchKernel", {"hStream": None}, parent=1, depth=1)
    outer.end = inner.end + 0.001 if inner.end else None
    assert captured(tmp_path, begin(0), outer, inner, copy(5, None)) == {1: A, 2: A}


def test_what_fails_is_in_no_graph(tmp_path: Path) -> None:
    refused = failed(1, "cuMemcpyAsync", 1, "CUDA_ERROR_INVALID_VALUE", arguments={"hStream": A})
    assert captured(tmp_path, begin(0), refused, copy(2, A)) == {2: A}
    never = failed(0, "cuStreamBeginCapture_v2", 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", arguments={"hStream": A})
    assert captured(tmp_path, never, copy(1, A)) == {}


@pytest.mark.parametrize("view", [("show",), ("tree",)])
def test_in_a_program(trace: Trace, shim: Path, tmp_path: Path, view: tuple[str, ...]) -> None:
    for name, text, how in (("hook", HOOK, ["-shared", "-fPIC", "-o", "libhook.so"]), ("program", PROGRAM, [])):
        (tmp_path / f"{name}.c").write_text(text)
        words = [f"-I{shim}", f"{name}.c", *(how or ["-o", "program", f"-L{shim}/standin", "-lcuda"])]
        subprocess.run(["gcc", *words], cwd=tmp_path, check=True)
    found = trace(tmp_path / "program", options=("--hook", f"{tmp_path}/libhook.so"))
    lines = [line for line in found.log(*view).stdout.splitlines() if " captured by 0x" in line]
    assert len(lines) == 1 and "cuMemsetD8Async" in lines[0] and "uc=2" in lines[0]
    report = tmp_path / "report.html"
    found.log("report", "-o", str(report))
    assert report.read_text().count("captured by 0x") == 1


@pytest.mark.parametrize("library", ["libcublas.so.12", "libmine.so"])
def test_a_library_that_a_line_of_python_has_asked(trace: Trace, shim: Path, tmp_path: Path, library: str) -> None:
    source = 'int cuMemAlloc_v2(void *, unsigned long); int make(void *p) { return cuMemAlloc_v2(p, 4096) + 0 * 1; }'
    (tmp_path / "library.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-fno-optimize-sibling-calls", "library.c", "-o", library,
                    f"-L{shim}/standin", "-lcuda"], cwd=tmp_path, check=True)  # fmt: skip
    program = f"import ctypes\nctypes.CDLL('libcuda.so.1').cuInit(0)\np = ctypes.c_uint64()\n" \
              f"def ask():\n    ctypes.CDLL('{tmp_path}/{library}').make(ctypes.byref(p))\nask()\n"  # fmt: skip
    (tmp_path / "ask.py").write_text(program)
    found = trace(next(iter(interpreters_here.found().values())), str(tmp_path / "ask.py"), options=("--python",))
    through = " through libcublas.so.12" if library.startswith("libcublas") else ""
    assert f"  by ask at ask.py:5{through}\n" in found.log("show").stdout
