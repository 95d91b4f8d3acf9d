"""What the frames of Python cost at a stop: one stack of 60 frames, each of another function (the worst case)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bench_training
from bench_tools import ROOT, SHIM, gdb, medians_of, with_extension

FRAMES = 60
PROGRAM = f"""
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
names = {{"f0": lambda: driver.cuInit(0)}}
for number in range(1, {FRAMES}):
    exec(f"def f{{number}}():\\n    return f{{number - 1}}()", names)
names["f{FRAMES - 1}"]()
"""
MEASURE = """python
import gc, time
from gdbcuda.live import process
from gdbcuda.live.pythons import thread_stacks
reads = 0
plain = process.InferiorMemory.read
def read(self, address, size):
    global reads
    reads += 1
    return plain(self, address, size)
process.InferiorMemory.read = read
for name in ("first", "code objects kept"):
    reads, start = 0, time.perf_counter()
    found = thread_stacks.of_selected_thread().frames
    print("@", name, time.perf_counter() - start, reads, len(found))
end
"""
LINE = re.compile(r"^@ (.+) ([\d.e-]+) (\d+) (\d+)$", re.MULTILINE)
PYTHON = "/usr/bin/python3"  # one that gdb can start: what is first in PATH may be a script


def stacks(connect: list[str], script: Path) -> dict[str, tuple[float, int]]:
    """Seconds and reads of memory, by what was known before."""
    words = [word for line in ["break cuInit", *connect] for word in ("-ex", line)]
    text = gdb("-iex", "set breakpoint pending on", "-x", str(ROOT / "gdbcuda.py"), *words, "-x", str(script), "-ex",
               "kill", "--args", PYTHON, str(script.parent / "deep.py"))  # fmt: skip
    found = {name: (float(seconds), int(reads)) for name, seconds, reads, frames in LINE.findall(text)
             if int(frames) >= FRAMES}  # fmt: skip
    if len(found) != 2:
        raise SystemExit(f"scripts/bench python: not {FRAMES} frames in:\n{text}")
    return found


def times() -> dict[str, tuple[float, int]]:
    """In milliseconds and reads, here and through gdbserver; the median of five."""
    with tempfile.TemporaryDirectory() as folder:
        program, script = Path(folder, "deep.py"), Path(folder, "measure.gdb")
        program.write_text(PROGRAM)
        script.write_text(MEASURE)
        ways = {"local": ["run"]}
        if shutil.which("gdbserver"):
            ways["gdbserver"] = [f"target remote | gdbserver --once - {PYTHON} {program}", "continue"]
        reads: dict[str, int] = {}

        def once() -> dict[str, float]:
            seconds = {}
            for way, connect in ways.items():
                for known, (took, count) in stacks(connect, script).items():
                    seconds[f"{way}, {known}"], reads[f"{way}, {known}"] = took, count
            return seconds

        return {name: (1000 * took, reads[name]) for name, took in medians_of(once, 5).items()}


IN_RING = """
import ctypes, sys, time
driver = ctypes.CDLL("libcuda.so.1")
call, version = driver.cuDriverGetVersion, ctypes.byref(ctypes.c_int())
def innermost():
    best = 1.0
    for _ in range(40):
        start = time.perf_counter()
        for _ in range(2000):
            call(version)
        best = min(best, (time.perf_counter() - start) / 2000)
    return best
names = {"f0": innermost}
for number in range(1, int(sys.argv[1])):
    exec(f"def f{number}():\\n    return f{number - 1}()", names)
print(names[f"f{int(sys.argv[1]) - 1}"]())
"""


def ring_times() -> dict[str, float]:
    """Nanoseconds of a recorded call from Python: without its frames, with 5 and with 60; the best of 40 rounds each,
    the median of five runs."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "called.py")
        program.write_text(IN_RING)

        def once() -> dict[str, float]:
            return {"recorded": recorded(program, FRAMES), "with 5 frames": recorded(program, 5, "cuDriverGetVersion"),
                    f"with {FRAMES} frames": recorded(program, FRAMES, "cuDriverGetVersion")}  # fmt: skip

        return {name: took * 1e9 for name, took in medians_of(once, 5).items()}


def recorded(program: Path, depth: int, function: str = "") -> float:
    with tempfile.TemporaryDirectory() as folder:
        options = ["--python-for", function] if function else []
        line = [sys.executable, "-m", "gdbcuda", "trace", "-o", f"{folder}/calls", *options, "--", PYTHON, str(program)]
        environment = {**with_extension(), "LD_LIBRARY_PATH": str(SHIM / "standin")}
        done = subprocess.run([*line, str(depth)], env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout)


def of_training(place: Path) -> Iterator[tuple[str, bench_training.Way]]:
    yield bench_training.ALONE, bench_training.Way()
    yield "gdbcuda trace", bench_training.Way(bench_training.trace(place))
    yield "gdbcuda trace --python", bench_training.Way(bench_training.trace(place, "--python"))
    for name, options in {"no cache": [], "no cache, gdbcuda trace --python": ["--python"]}.items():
        words = bench_training.trace(place, *options) if options else ()
        yield name, bench_training.Way(words, environment={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})


def training_times() -> tuple[str, dict[str, float]]:
    """The program, and median microseconds of a step; without PyTorch's cache each tensor is an allocation."""
    return bench_training.in_turns(of_training, bench_training.step)
