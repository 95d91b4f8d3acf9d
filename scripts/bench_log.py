"""What a recorded call costs, beside what else gdb has to see a call begin and end; and what reading a log costs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHIM = ROOT / "shim" / "build"
HOOK, PROGRAM = SHIM / "libgdbcuda-hook.so", SHIM / "sample" / "threads"
FUNCTIONS = ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8_v2", "cuMemcpyDtoH_v2")
MANY, FEW, ROUNDS = 1000, 300, 5
TWO_STOPS = "two empty Python stops"

PYTHON = f"""python
import time, gdb
count = 0
class Silent(gdb.Breakpoint):
    def stop(self):
        global count
        count += 1
        return False
class Entry(Silent):
    where = None
    def stop(self):
        if self.where is None:  # each function has one call site in the sample
            self.where = Silent("*%#x" % gdb.newest_frame().older().pc(), internal=True)
        return Silent.stop(self)
class Finish(gdb.FinishBreakpoint):
    def stop(self):
        return Silent.stop(self)
    def out_of_scope(self):
        pass
class Finished(Silent):
    def stop(self):
        Finish(gdb.newest_frame(), internal=True)
        return Silent.stop(self)
def plant(kind):
    for name in {FUNCTIONS}:
        for place in gdb.decode_line(name)[1]:
            if gdb.solib_name(place.pc).endswith("{HOOK.name}"):
                kind("*%#x" % place.pc, internal=True)
def commands():
    for name in {FUNCTIONS}:
        gdb.execute("break -qualified " + name, to_string=True)
        gdb.breakpoints()[-1].commands = "silent\\ncontinue"
def go():
    start = time.perf_counter()
    gdb.execute("continue", to_string=True)
    print("@", time.perf_counter() - start, count)
end"""

EVERYTHING = "cuda-log start"
RECORD = f"cuda-log start {' '.join(FUNCTIONS)} --in hook"
FAST, FASTER, ALONE = RECORD.replace(" start", " start --fast"), f"{EVERYTHING} --fast", "python 0"
RING = 8192  # calls that a thread's ring keeps
WAYS = {
    "alone: nothing is recorded": (1000 * MANY, ALONE),
    "cuda-log --fast: the hook's functions": (1000 * MANY, FAST),
    "cuda-log --fast: every function in every layer": (200 * MANY, FASTER),
    TWO_STOPS: (MANY, "python plant(Entry)"),
    "cuda-log": (MANY, RECORD),
    "cuda-log --to FILE": (MANY, f"{RECORD} --to /dev/null"),
    "cuda-log --to FILE --stack 8": (MANY, f"{RECORD} --stack 8 --to /dev/null"),
    "cuda-log start: every function in every layer": (FEW, EVERYTHING),
    "gdb's commands, entry alone, hook and driver": (FEW, "python commands()"),
    f"entry and FinishBreakpoint, {FEW} calls": (FEW, "python plant(Finished)"),
    f"entry and FinishBreakpoint, {MANY} calls": (MANY, "python plant(Finished)"),
}  # how many calls, and the command that prepares gdb


def times(gdb: str, environment: dict[str, str]) -> dict[str, float]:
    """Microseconds a call of each way: what N calls take more than none. The best of some rounds: load only adds."""
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(ROUNDS):
        for name, (count, prepare) in WAYS.items():
            few = 2 * RING if prepare in (ALONE, FAST, FASTER) else 0  # what is in the rings is decoded at the end
            took = [in_gdb(gdb, environment, calls, prepare) for calls in (few, count)]
            found[name].append((took[1] - took[0]) / (count - few) * 1e6)
    for name, outside in OUTSIDE.items():
        if shutil.which(name):
            found[f"{name} (not installed with gdbcuda)"] = [outside(environment) for _ in range(2)]
    return {name: min(rows) for name, rows in found.items()}


def in_gdb(gdb: str, environment: dict[str, str], calls: int, prepare: str) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write(PYTHON)
        script.flush()
        lines = [f"cuda-load {HOOK}", f"source {script.name}", "break main", "run", "delete", prepare, "python go()",
                 "cuda-log"]  # fmt: skip
        words = [word for line in lines for word in ("-ex", line)]
        start = [gdb, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-x", str(ROOT / "gdbcuda.py")]
        done = subprocess.run([*start, *words, "--args", str(PROGRAM), "1", str(calls)], env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)  # fmt: skip
    took, stops = re.findall(r"^@ ([\d.e-]+) (\d+)$", done.stdout, re.MULTILINE)[-1]
    kept = re.search(r"(\d+) calls kept", done.stdout)
    wanted = min(calls, RING) if prepare in (FAST, FASTER) else calls
    seen = kept is not None and int(kept[1]) >= wanted if prepare.startswith(EVERYTHING) else int(stops) == 2 * calls
    seen = seen or "commands" in prepare or prepare in (FAST, ALONE)
    assert seen, f"{prepare} has not seen the {calls} calls:\n{done.stdout}{done.stderr}"
    return float(took)


def with_ltrace(environment: dict[str, str]) -> float:
    """The program's calls into the driver; no CUDA types."""
    wanted = "+".join(f"{name}@*" for name in FUNCTIONS)
    words = ["ltrace", "-f", "-e", wanted, "-o"]
    return of_a_call(FEW, environment, lambda calls, out: [*words, out, PROGRAM, "1", calls])


def with_bpftrace(environment: dict[str, str]) -> float:
    """Probes at entry and return in the driver, registers alone. Needs root, and ``ulimit -l unlimited`` at times."""
    driver, what = SHIM / "standin" / "libcuda.so.1", {"uprobe": "arg0", "uretprobe": "retval"}
    probes = " ".join(f'{kind}:{driver}:{name} {{ printf("%d %lx\\n", tid, {value}); }}'
                      for kind, value in what.items() for name in FUNCTIONS)  # fmt: skip
    words = ["bpftrace", "-e", probes, "-o"]
    return of_a_call(20 * MANY, environment, lambda calls, out: [*words, out, "-c", f"{PROGRAM} 1 {calls}"])


def of_a_call(count: int, environment: dict[str, str], line: Callable[[str, str], Sequence[str | Path]]) -> float:
    """Microseconds, from the difference between many calls and none; all of them have to be in the output."""
    took = []
    for calls in (0, count):
        with tempfile.NamedTemporaryFile() as out:
            start = time.perf_counter()
            done = subprocess.run(line(str(calls), out.name), env=environment, check=False, capture_output=True,
                                  timeout=300, text=True)  # fmt: skip
            took.append(time.perf_counter() - start)
            seen = sum(1 for _ in out)
        assert seen >= calls and f"{calls} calls:" in done.stdout, f"{seen} lines of {calls} calls\n{done.stderr}"
    return (took[1] - took[0]) / count * 1e6


OUTSIDE = {"ltrace": with_ltrace, "bpftrace": with_bpftrace}


CALLS = 1_000_000
KINDS = ("cuMemAlloc_v2", "cuMemsetD8_v2", "cuMemcpyDtoH_v2", "cuMemFree_v2")
VIEWS = ("summary", "timeline", "show", "tree", "changes", "memory", "diff", "export", "report")


def views() -> dict[str, tuple[float, int]]:
    """Seconds of CPU and MiB at most of each view of ``gdbcuda log`` over a log of so many calls."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        write(log, CALLS)
        also = {"diff": [str(log)], "report": ["-o", f"{folder}/report.html"]}
        return {view: cost([sys.executable, "-m", "gdbcuda.shell.cli", "log", view, str(log), *also.get(view, [])])
                for view in VIEWS}  # fmt: skip


def write(path: Path, count: int) -> None:
    """8 threads take turns; blocks are handed out, filled, read and freed."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"gdbcuda_log": 1, "phase": "H", "cuda": "13.0", "nvml": "13.5", "program": "p"}) + "\n")
        for number in range(count):
            kind, block = number % 4, f"0x7f{number // 4 * 4096:010x}"
            out = {"out": {"dptr": {"address": "0x7ffe0", "value": block}}} if kind == 0 else {}
            shared = {"op_id": number, "name": KINDS[kind]}
            begin = {"ts": number * 1e-5, **shared, "phase": "B", "details": details(kind, block), "thread": number % 8,
                     "pid": 99, "depth": 0, "parent": None, "layer": "hook", "caller": 4096}  # fmt: skip
            end = {"ts": number * 1e-5 + 5e-6, **shared, "phase": "E", "details": {"status": 0, **out}}
            file.write(f"{json.dumps(begin)}\n{json.dumps(end)}\n")


def details(kind: int, block: str) -> dict[str, Any]:
    return ({"dptr": {"address": "0x7ffe0"}, "bytesize": 4096}, {"dstDevice": block, "uc": 3, "N": 256},
            {"dstHost": "0x1", "srcDevice": block, "ByteCount": 256}, {"dptr": block})[kind]  # fmt: skip


def cost(line: Sequence[str]) -> tuple[float, int]:
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, line
    return used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
