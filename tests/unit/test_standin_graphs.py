"""Graphs of the stand-in driver, and captured streams: what a real driver said of the same calls, and what is done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shim_support import clean_environment

HERE = Path(__file__).parent / "standin"


def run(shim: Path, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin"), **more}
    return subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=60)


def test_each_call_is_answered_as_by_a_real_driver(shim: Path, tmp_path: Path) -> None:
    program = tmp_path / "graphs"
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{shim}", f"-L{shim}/standin"]
    subprocess.run(["gcc", *flags, "-o", program, HERE / "graphs.c", "-lcuda"], check=True)
    assert run(shim, program).stdout == (HERE / "graphs.txt").read_text()


CAPTURED = """
import ctypes as c
import threading
runtime = c.CDLL("libcudart.so.13")
def made(name, *arguments): assert getattr(runtime, name)(*arguments) == 0, name
first, second, graph, launchable, event, block = (c.c_void_p() for _ in range(6))
size, back, called = c.c_size_t(4096), (c.c_char * 4096)(), []
host = c.CFUNCTYPE(None, c.c_void_p)(lambda unused: called.append(threading.get_ident()))
made("cudaStreamCreateWithFlags", c.byref(first), 1)
made("cudaStreamCreateWithFlags", c.byref(second), 1)
made("cudaEventCreate", c.byref(event))
made("cudaStreamBeginCapture", first, 2)
made("cudaMallocAsync", c.byref(block), size, first)
made("cudaMemsetAsync", block, 7, size, first)
made("cudaEventRecord", event, first)
made("cudaStreamWaitEvent", second, event, 0)
made("cudaMemcpyAsync", back, block, size, 2, second)
made("cudaLaunchHostFunc", second, host, None)
made("cudaEventRecord", event, second)
made("cudaStreamWaitEvent", first, event, 0)
made("cudaFreeAsync", block, first)
made("cudaStreamEndCapture", first, c.byref(graph))
made("cudaGraphInstantiate", c.byref(launchable), graph, c.c_ulonglong(0))
print(back[0][0], len(called))
made("cudaGraphLaunch", launchable, first)
made("cudaStreamSynchronize", first)
print(back[0][0], len(called))
made("cudaGraphLaunch", launchable, first)
made("cudaStreamSynchronize", first)
print(len(called), runtime.cudaStreamQuery(second), threading.get_ident() in called)
"""


def test_what_is_captured_is_done_when_its_graph_is_launched(shim: Path) -> None:
    """Also what a stream does that has waited for a captured one; functions are called by another thread."""
    done = run(shim, sys.executable, "-c", CAPTURED)
    assert (done.stdout, done.stderr) == ("0 0\n7 1\n2 0 False\n", "")
