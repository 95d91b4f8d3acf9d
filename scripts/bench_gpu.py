"""What a false guard costs where it matters: on NVIDIA's own driver, in runtime calls and a training step of PyTorch.

The program works in phases and calls getppid between them, where gdb switches the breakpoint on or off: with and
without a guard take turns in one process, and each phase asks whether the guard is there. The clock is the program's.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STANDIN = ROOT / "shim" / "build" / "standin" / "libcudart.so.13"
PHASES = 20
PAIRS = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C"
#endif
int cudaMalloc(void **, size_t);
#ifdef __cplusplus
extern "C"
#endif
int cudaFree(void *);
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
static void pairs(long count)
{
    void *block;
    for (long i = 0; i < count; i++)
        if (cudaMalloc(&block, 4096) || cudaFree(block))
            exit(1);
}
int main(int count, char **words)
{
    int phases = count > 2 ? atoi(words[1]) : 1;
    long calls = count > 2 ? atol(words[2]) : 1;
    void *kept;
    if (cudaMalloc(&kept, 4096)) // else each cudaFree gives the whole chunk back, and that is what would be measured
        return 1;
    for (int phase = 0; phase < phases; phase++) {
        getppid();
        pairs(100); // the first call after a stop still comes to gdb
        double start = now();
        pairs(calls);
        printf("took %.4f us each\\n", (now() - start) / calls);
        fflush(stdout);
    }
    return 0;
}
"""
STEP = """
import ctypes, sys, time, torch
torch.manual_seed(0)
layers = [torch.nn.Linear(512, 512) for _ in range(8)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(64, 512, device="cuda")
mark = ctypes.CDLL(None).getppid
def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
phases, times = int(sys.argv[1]), int(sys.argv[2])
for phase in range(phases):
    mark()
    steps(min(30, times))
    start = time.perf_counter()
    steps(times)
    print("took %.4f us each" % ((time.perf_counter() - start) / times * 1e6), flush=True)
"""
TURNS = """
python
turns = []
def turn():
    turns.append(0)
    gdb.execute("disable 1" if len(turns) % 2 else "enable 1", to_string=True)
    print("\\nphase", "idle" if len(turns) % 2 else "guard" if "test at" in gdb.execute("cuda-guards", to_string=True)
          else "lost: " + gdb.execute("cuda-guards", to_string=True), flush=True)
end
break getppid
commands
silent
python turn()
continue
end
"""


@dataclass(frozen=True)
class Program:
    """``line``, with the number of phases and of times in each; the breakpoint is on ``function``, never true."""

    name: str
    line: tuple[str, ...]
    function: str
    false: str
    register: str
    times: int
    few: int


def programs(folder: Path) -> list[Program]:
    found = [Program("cudaMalloc + cudaFree", (str(compiled(folder)),), "cuMemAlloc_v2", "bytesize > 1T",
                     "$rsi > 1099511627776", 50_000, 300)]  # fmt: skip
    python = shutil.which("python3") or sys.executable
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
        (folder / "step.py").write_text(STEP)
        found.append(Program("PyTorch training step", (python, str(folder / "step.py")), "cuLaunchKernel",
                             "gridDimX > 1G", "$esi > 1073741824", 300, 10))  # fmt: skip
    return found


def compiled(folder: Path) -> Path:
    """With NVIDIA's runtime inside where there is its driver, else over the stand-in."""
    is_real = has_driver() and shutil.which("nvcc")
    source, out = folder / ("pairs.cu" if is_real else "pairs.c"), folder / "pairs"
    source.write_text(PAIRS.replace("int cuda", "cudaError_t cuda") if is_real else PAIRS)
    line = ["nvcc", "-O2", str(source)] if is_real else ["gcc", "-O2", str(source), str(STANDIN)]
    subprocess.run([*line, "-o", str(out)], check=True)
    return out


def has_driver() -> bool:
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return "libcuda.so.1" in known


class Bench:
    def __init__(self, gdb: str, environment: dict[str, str], program: Program, folder: Path) -> None:
        self.gdb, self.environment, self.program = gdb, environment, program
        self.turns = folder / "turns.gdb"
        self.turns.write_text(TURNS)

    def run(self, line: list[str]) -> str:
        return subprocess.run(line, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=400).stdout  # fmt: skip

    def alone(self) -> list[float]:
        return took(self.run([*self.program.line, str(PHASES), str(self.program.times)]))

    def under(self, *commands: str, phases: int, times: int) -> str:
        words = ["set pagination off", "set breakpoint pending on", *commands, "run"]
        line = [self.gdb, "-nx", "-q", "-batch", "-x", str(ROOT / "gdbcuda.py")]
        line += [word for command in words for word in ("-ex", command)]
        return self.run([*line, "--args", *self.program.line, str(phases), str(times)])

    def with_and_without(self) -> tuple[list[float], list[float]]:
        where = f"cuda-break {self.program.function} --in driver --from any if {self.program.false}"
        text = self.under(where, f"source {self.turns}", phases=2 * PHASES, times=self.program.times)
        phases = re.findall(r"^phase (\w+)", text, re.MULTILINE)
        assert phases == ["idle", "guard"] * PHASES, text
        every = took(text)
        return every[::2], every[1::2]

    def conditional(self) -> list[float]:
        condition = f"break {self.program.function} if {self.program.register}"
        return took(self.under(condition, phases=1, times=self.program.few))


def took(text: str) -> list[float]:
    found = [float(number) for number in re.findall(r"took ([\d.]+) us each", text)]
    assert found, text
    return found


def times(gdb: str, environment: dict[str, str]) -> list[tuple[str, dict[str, float]]]:
    """(program, microseconds of each way: medians of its phases), for the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for program in programs(Path(folder)):
            bench = Bench(gdb, environment, program, Path(folder))
            before = bench.alone()
            idle, guard = bench.with_and_without()
            ways = {"no debugger": before + bench.alone(), "debugger, idle": idle, "false guard": guard,
                    "false native condition": bench.conditional()}  # fmt: skip
            found.append((program.name, {name: statistics.median(all_of) for name, all_of in ways.items()}))
        return found
