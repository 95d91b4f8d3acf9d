"""What a recorded call costs, beside what else gdb has to see a call begin and end."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

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

RECORD = f"cuda-log start {' '.join(FUNCTIONS)} --in hook"
WAYS = {
    TWO_STOPS: (MANY, "python plant(Entry)"),
    "cuda-log": (MANY, RECORD),
    "cuda-log --to FILE": (MANY, f"{RECORD} --to /dev/null"),
    "cuda-log --to FILE --stack 8": (MANY, f"{RECORD} --stack 8 --to /dev/null"),
    "gdb's commands, entry alone, hook and driver": (FEW, "python commands()"),
    "entry and FinishBreakpoint": (FEW, "python plant(Finished)"),
}  # how many calls, and the command that prepares gdb


def times(gdb: str, environment: dict[str, str]) -> dict[str, float]:
    """Microseconds a call of each way: what N calls take more than none. The best of some rounds: load only adds."""
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(ROUNDS):
        for name, (count, prepare) in WAYS.items():
            took = [in_gdb(gdb, environment, calls, prepare) for calls in (0, count)]
            found[name].append((took[1] - took[0]) / count * 1e6)
    if shutil.which("ltrace"):
        found["ltrace"] = [with_ltrace(environment)]
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
    seen = f"{calls} calls kept" in done.stdout if RECORD in prepare else int(stops) == 2 * calls
    assert seen or "commands" in prepare, f"{prepare} has not seen the {calls} calls:\n{done.stdout}{done.stderr}"
    return float(took)


def with_ltrace(environment: dict[str, str]) -> float:
    wanted = ["-e", "+".join(f"{name}@*" for name in FUNCTIONS), "-o", "/dev/null"]
    took = []
    for calls in (0, FEW):
        start = time.perf_counter()
        subprocess.run(["ltrace", *wanted, str(PROGRAM), "1", str(calls)], env=environment, check=False,
                       capture_output=True, timeout=300)  # fmt: skip
        took.append(time.perf_counter() - start)
    return (took[1] - took[0]) / FEW * 1e6
