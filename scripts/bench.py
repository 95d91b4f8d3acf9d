"""What scripts/bench runs. A measurement is a function under ``@measurement``; it returns rows of a table."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from functools import partial
from typing import Callable

from bench_tools import (
    ENVIRONMENT,
    GDB,
    KEPT,
    ROOT,
    SHIM,
    gdb,
    measured,
    medians,
    medians_of,
    seconds,
    steps_in_gdb,
    timed_in_gdb,
    with_many_libraries,
)

from gdbcuda import api
from gdbcuda.text import render

Row = tuple[str, str, str]
MEASUREMENTS: dict[str, Callable[[], list[Row]]] = {}


def measurement(function: Callable[[], list[Row]]) -> Callable[[], list[Row]]:
    MEASUREMENTS[function.__name__.replace("_", "-")] = function
    return function


def in_milliseconds(times: dict[str, float], base: str) -> list[Row]:
    return [(name, f"{1000 * t:.1f} ms", f"{t / times[base]:.2f} x") for name, t in times.items()]


@measurement
def load() -> list[Row]:
    """Starting gdb with the extension, against gdb alone (at most 60 ms more)."""
    source = ("-x", str(ROOT / "gdbcuda.py"))
    times = medians(
        {
            "gdb": lambda: gdb("-ex", "echo"),
            "gdb + gdbcuda.py": lambda: gdb(*source),
            "gdb + gdbcuda.py + one cuda-break": lambda: gdb(*source, "-ex", "cuda-break cuInit"),
        }
    )
    more = times["gdb + gdbcuda.py"] - times["gdb"]
    return [*in_milliseconds(times, "gdb"), ("the extension alone", f"{1000 * more:.1f} ms", "")]


@measurement
def breakpoints() -> list[Row]:
    """1,000 breakpoints at once in a process that has the hook and the driver loaded (at most 0.3 s)."""
    setup = ["set breakpoint pending on", f"cuda-load {SHIM}/libgdbcuda-hook.so", "break main", "run"]
    names = "__import__('gdbcuda.live.layers.table_version', fromlist=['x']).table().find('cu*')[:1000]"
    steps = {
        "gdb's break, 1,000 names": f"['break ' + f.symbol for f in {names}]",
        "cuda-break, 1,000 names": f"['cuda-break ' + ' '.join(f.symbol for f in {names})]",
    }
    times = medians_of(lambda: timed_in_gdb(setup, steps), 5)
    return in_milliseconds(times, "gdb's break, 1,000 names")


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
    return in_milliseconds(medians_of(lambda: steps_in_gdb(lines), 9), "json.load of the file")


@measurement
def decoding() -> list[Row]:
    """Decoding one call, all of whose pointers are readable."""
    known = api.load()
    costs = sorted(seconds_to_decode(function, known) for function in known.functions.values())
    middle = statistics.median(costs)
    shown = {"median function": middle, "99 of 100": costs[len(costs) * 99 // 100], "the largest": costs[-1]}
    return [(name, f"{1e6 * cost:.0f} us", f"{cost / middle:.1f} x") for name, cost in shown.items()]


class Ones:
    """A memory that can be read everywhere."""

    def read(self, address: int, size: int) -> bytes:
        return b"\1" * size


def seconds_to_decode(function: api.Function, table: api.Table) -> float:
    from gdbcuda import decode

    raw = [b"\1" * parameter.type.size for parameter in function.parameters]
    decode.arguments(function, raw, Ones(), table, phase="return")  # the plan for the function is made once
    return min(seconds(lambda: decode.arguments(function, raw, Ones(), table, phase="return")) for _ in range(3))


@measurement
def routes() -> list[Row]:
    """cuda-route over the whole API in a process that has the hook and the driver loaded (at most 1 s)."""
    setup = [f"cuda-load {SHIM}/libgdbcuda-hook.so", "break main", "run"]
    steps = {"gdb's info symbol, once": "['info symbol main']", "cuda-route --all": "['cuda-route --all']"}
    return in_milliseconds(medians_of(lambda: timed_in_gdb(setup, steps), 5), "cuda-route --all")


@measurement
def check() -> list[Row]:
    """gdbcuda check on a library of 100 MB and 2,000 symbols (at most 1 s, 200 MB), against binutils."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, str(ROOT / "scripts" / "large_library.py"), folder]
        library = subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
        lines = {
            "gdbcuda check": [sys.executable, "-m", "gdbcuda.shell.cli", "check", "--quiet", library],
            "readelf --symbols": ["readelf", "--wide", "--symbols", library],
            "readelf --debug-dump=info": ["readelf", "--debug-dump=info", library],
        }
        runs = {name: [measured(words) for _ in range(5)] for name, words in lines.items()}
    seconds_of = {name: statistics.median(s for s, _ in found) for name, found in runs.items()}
    rows = in_milliseconds(seconds_of, "gdbcuda check")
    return [(f"{name} ({max(m for _, m in runs[name]):.0f} MB)", took, ratio) for name, took, ratio in rows]


FIVE = ("cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel", "cuCtxGetDevice")


@measurement
def check_small() -> list[Row]:
    """gdbcuda check on a hook library with 5 functions (at most 0.3 s), against Python alone."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/libsmall.so"
        source = "".join(f"int {name}(void) {{ return 0; }}\n" for name in FIVE)
        line = ["gcc", "-w", "-g", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
        subprocess.run(line, input=source, text=True, check=True)
        lines = {"python": ["-c", ""], "gdbcuda check": ["-m", "gdbcuda.shell.cli", "check", "--quiet", library]}
        times = medians({name: partial(measured, [sys.executable, *words]) for name, words in lines.items()})
    return in_milliseconds(times, "python")


@measurement
def elf() -> list[Row]:
    """Symbols, versions and relocations of a file, read by our code and by pyelftools."""
    from bench_elf import times

    found = times()
    return in_milliseconds(found, next(iter(found)))


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


@measurement
def recorder() -> list[Row]:
    """A call that gdbcuda trace records: at most two looks at the clock and 6 ns (25 where those take 19)."""
    from bench_recorder import OTHER_WORK, PLAIN, times

    found = times()
    base = {name: f"{OTHER_WORK}, plain" if name.startswith(OTHER_WORK) else PLAIN for name in found}
    return [(name, f"{took:,.1f} ns", f"{took / found[base[name]]:,.2f} x") for name, took in found.items()]


@measurement
def observers() -> list[Row]:
    """A call by each way to watch it: the recorder, uprobes, strace."""
    from bench_observers import AN_IOCTL, PLAIN, PLAIN_IOCTL, times

    found = times()
    base = {name: PLAIN_IOCTL if name in (PLAIN_IOCTL, AN_IOCTL) else PLAIN for name in found}
    return [(name, f"{took:,.1f} ns", f"{took / found[base[name]]:,.1f} x") for name, took in found.items()]


@measurement
def training() -> list[Row]:
    """A training step, all its calls recorded: at most 3 % more, with a hook library's calls 6 %; beside CUPTI."""
    from bench_training import steps

    return compared(*steps())


@measurement
def training_observers() -> list[Row]:
    """A training step by each way to watch it."""
    from bench_training import steps_by_others

    return compared(*steps_by_others())


@measurement
def python_training() -> list[Row]:
    """A training step with the Python stacks of its allocations: at most 3 % more."""
    from bench_python import training_times

    return compared(*training_times())


def compared(program: str, found: dict[str, float]) -> list[Row]:
    base = next(iter(found.values()))
    return [(f"{program}: {name}", f"{took:,.1f} us", f"{took / base:,.3f} x") for name, took in found.items()]


@measurement
def first_call() -> list[Row]:
    """From the start to the end of the first call: in gdb -batch with the recorder at most 1 s more than alone."""
    from bench_training import first_calls

    program, found = first_calls()
    base = next(iter(found.values()))
    return [(f"{program}: {name}", f"{took:.2f} s", f"{took - base:+.2f} s") for name, took in found.items()]


@measurement
def log_views() -> list[Row]:
    """A log of a million calls: the summary in under 10 s and 300 MB."""
    from bench_log import views

    found = views()
    return [(f"gdbcuda log {name}", f"{took:.1f} s, {peak} MiB", f"{took / found['summary'][0]:.1f} x")
            for name, (took, peak) in found.items()]  # fmt: skip


@measurement
def notice() -> list[Row]:
    """A program with 300 libraries, started: looking for a hook library (at most 1.05 times; in a CUDA program 1.1)."""
    with tempfile.TemporaryDirectory() as folder:
        programs = {
            "no CUDA": with_many_libraries(folder),
            "CUDA": with_many_libraries(folder, str(SHIM / "standin" / "libcuda.so.1")),
        }
        return [row for name, program in programs.items() for row in looking_for_hooks(name, program)]


def looking_for_hooks(name: str, program: str) -> list[Row]:
    source = ("-x", str(ROOT / "gdbcuda.py"))
    without = ("python from gdbcuda.live import events; from gdbcuda.live.noticing import notice; "
              "events.disconnect('new_objfile', notice.on_objfile)")  # fmt: skip
    actions = {
        f"{name}, not looking": lambda: gdb(*source, "-ex", without, "-ex", "run", program),
        f"{name}, looking": lambda: gdb(*source, "-ex", "echo", "-ex", "run", program),
    }
    return in_milliseconds(medians(actions), f"{name}, not looking")


@measurement
def python() -> list[Row]:
    """60 frames of Python at a stop (at most 3 ms, local), and in a recorded call (at most 1,000 ns more)."""
    from bench_python import ring_times, times

    found = times()
    base = next(iter(found.values()))[0]
    rows = [(f"{name}: {reads} reads", f"{took:.2f} ms", f"{took / base:.2f} x")
            for name, (took, reads) in found.items()]  # fmt: skip
    ring = ring_times()
    return rows + [(f"in the ring, {name}", f"{ns:.0f} ns", f"{ns / ring['recorded']:.2f} x")
                   for name, ns in ring.items()]  # fmt: skip


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
