"""What scripts/bench runs. A measurement is a function under ``@measurement``; it returns rows of a table."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from gdbcuda import render

ROOT = Path(__file__).resolve().parent.parent
SHIM = ROOT / "shim" / "build"
GDB = os.environ.get("GDBCUDA_GDB", "gdb")
UNWANTED = ("DEBUGINFOD_URLS", "PYTHONDONTWRITEBYTECODE")
KEPT = {name: value for name, value in os.environ.items() if name not in UNWANTED}
ENVIRONMENT = {**KEPT, "LD_LIBRARY_PATH": str(SHIM / "standin"), "LC_ALL": "C.UTF-8"}
Row = tuple[str, str, str]
MEASUREMENTS: dict[str, Callable[[], list[Row]]] = {}


def measurement(function: Callable[[], list[Row]]) -> Callable[[], list[Row]]:
    MEASUREMENTS[function.__name__.replace("_", "-")] = function
    return function


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


def in_milliseconds(times: dict[str, float], base: str) -> list[Row]:
    return [(name, f"{1000 * t:.1f} ms", f"{t / times[base]:.2f} x") for name, t in times.items()]


@measurement
def load() -> list[Row]:
    """Starting gdb with the extension, against gdb alone (at most 60 ms more)."""
    times = medians(
        {
            "gdb": lambda: gdb("-ex", "echo"),
            "gdb + gdbcuda.py": lambda: gdb("-x", str(ROOT / "gdbcuda.py")),
            "gdb + gdbcuda.py + one cuda-break": lambda: gdb(
                "-x", str(ROOT / "gdbcuda.py"), "-ex", "cuda-break cuInit"
            ),
        }
    )
    more = times["gdb + gdbcuda.py"] - times["gdb"]
    return [*in_milliseconds(times, "gdb"), ("the extension alone", f"{1000 * more:.1f} ms", "")]


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


@measurement
def breakpoints() -> list[Row]:
    """1,000 breakpoints at once in a process that has the hook and the driver loaded (at most 0.3 s)."""
    setup = ["set breakpoint pending on", f"cuda-load {SHIM}/libgdbcuda-hook.so", "break main", "run"]
    names = "__import__('gdbcuda.live.versions', fromlist=['x']).table().find('cu*')[:1000]"
    runs = [
        timed_in_gdb(
            setup,
            {
                "gdb's break, 1,000 names": f"['break ' + f.symbol for f in {names}]",
                "cuda-break, 1,000 names": f"['cuda-break ' + ' '.join(f.symbol for f in {names})]",
            },
        )
        for _ in range(5)
    ]
    times = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    return in_milliseconds(times, "gdb's break, 1,000 names")


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


@measurement
def table() -> list[Row]:
    """The API table in gdb's Python (loading: at most 10 ms), against reading the same file with json alone."""
    lines = [
        "import json; from gdbcuda import api; from gdbcuda.api import versions",
        "took('json.load of the file', lambda: json.load(open(versions.TABLE)))",
        "table = took('api.load', api.load)",
        "took('first function with its notes', lambda: table.function('cuMemAlloc_v2').role)",
        "took('find a glob', lambda: table.find('cuMem*'))",
    ]
    runs = [steps_in_gdb(lines) for _ in range(9)]
    return in_milliseconds(
        {name: statistics.median(r[name] for r in runs) for name in runs[0]}, "json.load of the file"
    )


@measurement
def decoding() -> list[Row]:
    """Decoding one call, all of whose pointers are readable."""
    from gdbcuda import api, decode

    class Ones:
        def read(self, address: int, size: int) -> bytes:
            return b"\1" * size

    known = api.load()
    costs = []
    for function in known.functions.values():
        raw = [b"\1" * parameter.type.size for parameter in function.parameters]

        def action(function: api.Function = function, raw: list[bytes] = raw) -> object:
            return decode.arguments(function, raw, Ones(), known, phase="return")

        action()  # the plan for the function is made once
        costs.append(min(seconds(action) for _ in range(3)))
    costs.sort()
    middle = statistics.median(costs)
    shown = {"median function": middle, "99 of 100": costs[len(costs) * 99 // 100], "the largest": costs[-1]}
    return [(name, f"{1e6 * cost:.0f} us", f"{cost / middle:.1f} x") for name, cost in shown.items()]


def measured(line: list[str]) -> tuple[float, float]:
    """Seconds and peak megabytes of a command."""
    start = time.perf_counter()
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


@measurement
def routes() -> list[Row]:
    """cuda-route over the whole API in a process that has the hook and the driver loaded (at most 1 s)."""
    setup = [f"cuda-load {SHIM}/libgdbcuda-hook.so", "break main", "run"]
    steps = {"gdb's info symbol, once": "['info symbol main']", "cuda-route --all": "['cuda-route --all']"}
    runs = [timed_in_gdb(setup, steps) for _ in range(5)]
    times = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    return in_milliseconds(times, "cuda-route --all")


@measurement
def check() -> list[Row]:
    """gdbcuda check on a library of 100 MB and 2,000 symbols (at most 1 s, 200 MB), against binutils."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, str(ROOT / "scripts" / "large_library.py"), folder]
        library = subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
        lines = {
            "gdbcuda check": [sys.executable, "-m", "gdbcuda.cli", "check", "--quiet", library],
            "readelf --symbols": ["readelf", "--wide", "--symbols", library],
            "readelf --debug-dump=info": ["readelf", "--debug-dump=info", library],
        }
        runs = {name: [measured(words) for _ in range(5)] for name, words in lines.items()}
    seconds_of = {name: statistics.median(s for s, _ in found) for name, found in runs.items()}
    rows = in_milliseconds(seconds_of, "gdbcuda check")
    return [(f"{name} ({max(m for _, m in runs[name]):.0f} MB)", took, ratio) for name, took, ratio in rows]


@measurement
def guards() -> list[Row]:
    """One call that a condition does not let stop: at most 1.5 ns more (one comparison), 2.5 ns (three terms)."""
    from bench_guards import times

    found = times(GDB, ENVIRONMENT)
    bases = ("8 threads, no gdb", "-O2 hook, no gdb")
    alone = {name: found[next((base for base in bases if name.startswith(base[:3])), "no gdb")] for name in found}
    return [(n, f"{t:,.2f} ns ({t - alone[n]:+,.2f})", f"{t / alone[n]:,.2f} x") for n, t in found.items()]


@measurement
def log() -> list[Row]:
    """A recorded call, begin and end, decoded: at most 1.5 times two empty Python stops."""
    from bench_log import TWO_STOPS, times

    found = times(GDB, ENVIRONMENT)
    return [(name, f"{took:,.0f} us", f"{took / found[TWO_STOPS]:,.2f} x") for name, took in found.items()]


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


@measurement
def notice() -> list[Row]:
    """A program with 300 libraries, started: looking for a hook library (at most 1.05 times; in a CUDA program 1.1)."""
    without = "python from gdbcuda.live import notice; gdb.events.new_objfile.disconnect(notice.on_objfile)"
    with tempfile.TemporaryDirectory() as folder:
        programs = {
            "no CUDA": with_many_libraries(folder),
            "CUDA": with_many_libraries(folder, str(SHIM / "standin" / "libcuda.so.1")),
        }
        rows = []
        for name, program in programs.items():
            source = ("-x", str(ROOT / "gdbcuda.py"))
            actions = {
                f"{name}, not looking": lambda: gdb(*source, "-ex", without, "-ex", "run", program),  # noqa: B023
                f"{name}, looking": lambda: gdb(*source, "-ex", "echo", "-ex", "run", program),  # noqa: B023
            }
            rows += in_milliseconds(medians(actions), f"{name}, not looking")
    return rows


@measurement
def gpu() -> list[Row]:
    """NVIDIA's driver: a false guard on cuMemAlloc_v2 (at most 1.05 times the debugger idle), on a launch (1.02)."""
    from bench_gpu import has_driver, times

    if not has_driver():
        return [("no NVIDIA driver on this machine", "", "")]
    rows: list[Row] = []
    for program, found in times(GDB, KEPT):
        idle = found["debugger, idle"]
        rows += [(f"{program}: {name}", f"{took:,.2f} us", f"{took / idle:,.2f} x") for name, took in found.items()]
    return rows


def main() -> int:
    wanted = sys.argv[1:] or list(MEASUREMENTS)
    if wanted == ["--list"]:
        print("\n".join(f"{name:<14} {(f.__doc__ or '').splitlines()[0]}" for name, f in MEASUREMENTS.items()))
        return 0
    unknown = [name for name in wanted if name not in MEASUREMENTS]
    if unknown:
        print(f"no measurement {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}", file=sys.stderr)
        return 2
    for name in wanted:
        print(f"\n{name}: {(MEASUREMENTS[name].__doc__ or '').splitlines()[0]}", flush=True)
        print(render.table(MEASUREMENTS[name](), ["", "median", "ratio"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
