"""What a false guard costs where it matters: on NVIDIA's own driver, in runtime calls and a training step of PyTorch.

Each figure is the program's own, of calls after the warm-up; the ways take turns. How many calls the guard has seen is
asked at the end of each run, so that no figure is of a guard that was not there.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STANDIN = ROOT / "shim" / "build" / "standin" / "libcudart.so.13"
ROUNDS = 5
PAIRS = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int cudaMalloc(void **, size_t), cudaFree(void *);
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
int main(int count, char **words)
{
    long calls = count > 1 ? atol(words[1]) : 1;
    void *block;
    double start = 0;
    for (long i = -100; i < calls; i++) {
        if (i == 0)
            start = now();
        if (cudaMalloc(&block, 4096) || cudaFree(block))
            return 1;
    }
    printf("took %.4f us each\\n", (now() - start) / calls);
    return 0;
}
"""
STEP = """
import sys, time, torch
torch.manual_seed(0)
layers = [torch.nn.Linear(512, 512) for _ in range(8)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(64, 512, device="cuda")
def step():
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()
for _ in range(30):
    step()
torch.cuda.synchronize()
start = time.perf_counter()
for _ in range(int(sys.argv[1])):
    step()
torch.cuda.synchronize()
print("took %.4f us each" % ((time.perf_counter() - start) / int(sys.argv[1]) * 1e6), flush=True)
"""


@dataclass
class Program:
    """``line`` runs it so many times; the breakpoint is on ``function``, with a condition that is never true."""

    name: str
    line: list[str]
    function: str
    false: str
    register: str
    times: int
    slow_times: int
    found: dict[str, list[float]] = field(default_factory=dict)


def programs(folder: Path) -> list[Program]:
    pairs = folder / "pairs"
    source = folder / "pairs.c"
    source.write_text(PAIRS)
    compiler = ["nvcc", "-O2"] if shutil.which("nvcc") and has_driver() else ["gcc", "-O2", str(STANDIN)]
    subprocess.run([compiler[0], str(source), *compiler[1:], "-o", str(pairs)], check=True)
    found = [Program("cudaMalloc + cudaFree", [str(pairs)], "cuMemAlloc_v2", "bytesize > 1T",
                     "$rsi > 1099511627776", 200_000, 300)]  # fmt: skip
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
        (folder / "step.py").write_text(STEP)
        line = [shutil.which("python3") or sys.executable, str(folder / "step.py")]
        found.append(Program("PyTorch training step", line, "cuLaunchKernel", "gridDimX > 1G",
                             "$esi > 1073741824", 1_500, 10))  # fmt: skip
    return found


def has_driver() -> bool:
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return "libcuda.so.1" in known


def took(text: str) -> float:
    found = re.search(r"took ([\d.]+) us each", text)
    assert found, text
    return float(found[1])


class Bench:
    def __init__(self, gdb: str, environment: dict[str, str], program: Program) -> None:
        self.gdb, self.environment, self.program = gdb, environment, program

    def run(self, line: list[str]) -> str:
        return subprocess.run(line, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=300).stdout  # fmt: skip

    def alone(self) -> float:
        return took(self.run([*self.program.line, str(self.program.times)]))

    def under(self, *commands: str, times: int | None = None, must: str = "") -> float:
        """``commands`` come before the start; ``must`` has to be in what gdb says at the program's end."""
        words = ["set breakpoint pending on", "set cuda-guard auto", *commands, "tbreak exit", "run"]
        words += ["cuda-guards", "continue"] if must else ["continue"]
        line = [self.gdb, "-nx", "-q", "-batch", "-x", str(ROOT / "gdbcuda.py")]
        line += [word for command in words for word in ("-ex", command)]
        text = self.run([*line, "--args", *self.program.line, str(times or self.program.times)])
        assert must in text, f"no guard was in place:\n{text}"
        return took(text)

    def guarded(self) -> float:
        return self.under(f"cuda-break {self.program.function} --in driver --from any if {self.program.false}",
                          must="test at")  # fmt: skip

    def conditional(self) -> float:
        return self.under(f"break {self.program.function} if {self.program.register}",
                          times=self.program.slow_times)  # fmt: skip


def times(gdb: str, environment: dict[str, str]) -> list[tuple[str, dict[str, float]]]:
    """(program, microseconds of each way: medians), for the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for program in programs(Path(folder)):
            bench = Bench(gdb, environment, program)
            ways = {"no debugger": bench.alone, "debugger, idle": bench.under, "false guard": bench.guarded}
            for _ in range(ROUNDS):
                for name, action in ways.items():
                    program.found.setdefault(name, []).append(action())
            program.found["false native condition"] = [bench.conditional()]
            found.append((program.name, {name: statistics.median(all_of) for name, all_of in program.found.items()}))
        return found
