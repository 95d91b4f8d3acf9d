"""What a call costs that a breakpoint's condition does not let stop: guards, and what gdb has instead."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "gdb"))
from guard_programs import CALLS, HOOK  # noqa: E402

MANY, FEW, FEW_TRACED, ROUNDS = 50_000_000, 2_000, 200_000, 5
FALSE, PLACE = "bytesize >= 1T", "--in libguardhook.so"
STOP = """python
class Never(gdb.Breakpoint):
    def stop(self): return int(gdb.parse_and_eval("$rsi")) >= 1 << 40
Never("cuMemAlloc_v2")
end"""


class Bench:
    def __init__(self, gdb: str, environment: dict[str, str], folder: Path, optimise: str = "-O0") -> None:
        folder.mkdir()
        self.gdb, self.folder = gdb, folder
        self.hook, self.program = folder / "libguardhook.so", folder / "calls"
        compile_c(self.hook, HOOK, optimise, "-shared", "-fPIC")
        compile_c(self.program, CALLS, "-O2", str(self.hook), f"-Wl,-rpath,{folder}", "-pthread")
        self.environment = environment

    def alone(self, threads: int = 1) -> float:
        return self.nanoseconds([str(self.program), *self.words(threads, MANY)])

    def words(self, threads: int, calls: int) -> list[str]:
        return [str(threads), str(calls // threads), "0", str(self.folder / "times")]

    def under(
        self, *commands: str, calls: int = MANY, threads: int = 1, server: bool = False, before: str = ""
    ) -> float:  # fmt: skip
        """With these commands at main, then the whole run; ``before`` there is a process."""
        line = [self.gdb, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-x", str(ROOT / "gdbcuda.py")]
        words = [str(self.program), *self.words(threads, calls)]
        start = f"target remote | gdbserver --once - {' '.join(words)} 2>&1"
        script = self.folder / "script.gdb"
        begin = [start, "tbreak main", "continue"] if server else [before, "tbreak main", "run"]
        script.write_text("\n".join([*begin, *commands]))
        return self.nanoseconds([*line, "-x", str(script), "-ex", "continue", "--args", *words])

    def traced(self, calls: int = FEW_TRACED) -> float:
        """The same condition in bpftrace's uprobe, in the kernel."""
        program = f"uprobe:{self.hook}:cuMemAlloc_v2 /arg1 >= 1099511627776/ {{ @ = count(); }}"
        words = " ".join([str(self.program), *self.words(1, calls)])
        return self.nanoseconds(["sh", "-c", f"ulimit -l unlimited; exec bpftrace -e '{program}' -c '{words}'"])

    def nanoseconds(self, line: Sequence[str]) -> float:
        (self.folder / "times").unlink(missing_ok=True)
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(line, env=self.environment, check=False, timeout=300, **pipes)
        file = self.folder / "times"
        found = re.search(r"([\d.]+) ns a call", file.read_text() if file.exists() else "")
        assert found, f"no time from {' '.join(line)}"
        return float(found[1])


def compile_c(out: Path, source: str, *flags: str) -> None:
    line = ["gcc", "-g", "-x", "c", "-", "-x", "none", "-o", str(out), *flags]
    subprocess.run(line, input=source, text=True, check=True)


def times(gdb: str, environment: dict[str, str]) -> dict[str, float]:
    """Nanoseconds a call and thread, medians; the fast ones take turns."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(gdb, environment, Path(folder) / "plain")
        optimised = Bench(gdb, environment, Path(folder) / "optimised", "-O2")
        guard = ("set cuda-guard auto", f"cuda-break cuMemAlloc {PLACE} if {FALSE}")
        three = f"cuda-break cuMemAlloc {PLACE} --from libguardhook.so if bytesize < 1T && dptr != NULL"
        counting = (guard[0], guard[1].replace(" --in", " --count --in"))
        errors = (guard[0], f"cuda-break cuMemAlloc {PLACE} --on error")
        fast = {
            "no gdb": bench.alone,
            "gdb, idle": bench.under,
            "false guard, one comparison": lambda: bench.under(*guard),
            "false guard, three terms, the caller last": lambda: bench.under(guard[0], three),
            "false guard that counts the calls": lambda: bench.under(*counting),
            "--on error, no call fails": lambda: bench.under(*errors, before=f"cuda-load {bench.hook}"),
            "8 threads, no gdb": lambda: bench.alone(8),
            "8 threads, false guard": lambda: bench.under(*guard, threads=8),
            "-O2 hook, no gdb": optimised.alone,
            "-O2 hook, false guard, one comparison": lambda: optimised.under(*guard),
            "-O2 hook, false guard, three terms, the caller last": lambda: optimised.under(guard[0], three),
        }
        found: dict[str, list[float]] = {name: [] for name in fast}
        for _ in range(ROUNDS):
            for name, action in fast.items():
                found[name].append(action())
        return {name: statistics.median(values) for name, values in found.items()} | slow(bench)


def slow(bench: Bench) -> dict[str, float]:
    gdbs = {
        "gdb's condition on $rsi": ("break cuMemAlloc_v2 if $rsi >= 1099511627776",),
        "gdb's condition on bytesize": ("break cuMemAlloc_v2 if bytesize >= 1099511627776",),
        "Python stop()": (STOP,),
    }
    found = {name: bench.under(*commands, calls=FEW) for name, commands in gdbs.items()}
    if shutil.which("bpftrace"):
        found["bpftrace, uprobe with the condition"] = bench.traced()
    if shutil.which("gdbserver"):
        evaluate = "set breakpoint condition-evaluation"
        for where in ("target", "host"):
            commands = (f"{evaluate} {where}", *gdbs["gdb's condition on $rsi"])
            found[f"gdbserver, condition on the {where}"] = bench.under(*commands, calls=FEW, server=True)
        guard = ("set cuda-guard auto", f"cuda-break cuMemAlloc {PLACE} if {FALSE}")
        found["gdbserver, false guard"] = bench.under(*guard, server=True)
    return found
