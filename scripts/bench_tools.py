"""What the measurements of bench.py are made with: gdb as a subprocess, a clock inside it, medians."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
SHIM = ROOT / "shim" / "build"
GDB = os.environ.get("GDBCUDA_GDB", "gdb")
UNWANTED = ("DEBUGINFOD_URLS", "PYTHONDONTWRITEBYTECODE")
KEPT = {name: value for name, value in os.environ.items() if name not in UNWANTED}
ENVIRONMENT = {**KEPT, "LD_LIBRARY_PATH": str(SHIM / "standin"), "LC_ALL": "C.UTF-8"}


def with_extension() -> dict[str, str]:
    """The environment in which a python finds gdbcuda, beside what its own PYTHONPATH has."""
    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def gdb(*arguments: str) -> str:
    line = [GDB, "-nx", "-q", "-batch", *arguments]
    return subprocess.run(
        line, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300
    ).stdout


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def medians(actions: dict[str, Callable[[], object]], rounds: int = 15) -> dict[str, float]:
    """Median seconds of each action; they take turns, so that drift of the machine hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(seconds(action))
    return {name: statistics.median(found) for name, found in times.items()}


def medians_of(run: Callable[[], dict[str, float]], rounds: int) -> dict[str, float]:
    """The same for a run that measures several things at once."""
    runs = [run() for _ in range(rounds)]
    return {name: statistics.median(found[name] for found in runs) for name in runs[0]}


TIMER = """python
import time, gdb
def timed(name, lines):
    start = time.perf_counter()
    for line in lines: gdb.execute(line, to_string=True)
    print("@", name, time.perf_counter() - start)
    gdb.execute("delete")
"""


def timed_in_gdb(setup: list[str], steps: dict[str, str]) -> dict[str, float]:
    """Seconds of each step (a Python expression that gives a list of commands), in one gdb on test_alloc."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write(TIMER + "\n".join(f"timed({name!r}, {lines})" for name, lines in steps.items()) + "\nend\n")
        script.flush()
        words = [word for line in setup for word in ("-ex", line)]
        text = gdb("-x", str(ROOT / "gdbcuda.py"), *words, "-x", script.name, str(SHIM / "sample" / "test_alloc"))
    return {name: float(value) for name, value in re.findall(r"^@ (.+) ([\d.e-]+)$", text, re.MULTILINE)}


IN_GDB = """python
import sys, time
sys.path.append({root!r})
def took(name, action):
    start = time.perf_counter(); result = action(); print("@", name, time.perf_counter() - start); return result
"""


def steps_in_gdb(lines: list[str]) -> dict[str, float]:
    """Seconds of what ``took(NAME, ACTION)`` runs, in gdb's own Python, before any program."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write(IN_GDB.format(root=str(ROOT)) + "\n".join(lines) + "\nend\n")
        script.flush()
        text = gdb("-x", script.name)
    return {name: float(value) for name, value in re.findall(r"^@ (.+) ([\d.e-]+)$", text, re.MULTILINE)}


def measured(line: list[str]) -> tuple[float, float]:
    """Seconds and peak megabytes of a command."""
    start = time.perf_counter()
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def with_many_libraries(folder: str, *also: str, many: int = 300) -> str:
    """A program that is linked to so many libraries of 40 functions."""
    source = "".join(f"int f{i}(void) {{ return {i}; }}" for i in range(40))
    library, program = f"{folder}/lib0.so", f"{folder}/program{len(also)}"
    compiler = ["gcc", "-g", "-x", "c", "-"]
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", library], input=source, text=True, check=True)
    copies = [shutil.copy(library, f"{folder}/lib{i}.so") for i in range(1, many)]
    main = "int main(void) { return 0; }"
    line = [*compiler, "-o", program, "-x", "none", "-Wl,--no-as-needed", library, *copies, *also]
    subprocess.run(line, input=main, text=True, check=True)
    return program
