"""What a training step costs by each way to watch it, and when the first call comes under gdb.

On a machine with NVIDIA's driver and PyTorch that is a step of PyTorch, else 1,000 calls of the stand-in, with other
work between them.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Callable

from bench_gpu import has_driver
from bench_tools import GDB, ROOT, SHIM, with_extension
from bench_training_programs import AND_CALLS, WORK, Program, program, with_cupti

from gdbcuda.files import places
from gdbcuda.observe.uprobes import needs

ROUNDS, PHASES, TIMES = 4, 10, 100  # each process has a median of its phases; each way the median of those
FEW = ("1", "3")  # phases and steps, where a call costs a stop
LONGEST = 240  # seconds
HOOK = str(SHIM / "libgdbcuda-hook.so")
ALONE, HOOKED = "alone", "with a hook library"


@dataclass(frozen=True)
class Way:
    """What is typed in front of the program, and its environment."""

    words: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    is_slow: bool = False


def ways(place: Path) -> Iterator[tuple[str, Way]]:
    yield ALONE, Way()
    yield "gdbcuda trace", Way(trace(place))
    yield "gdbcuda trace --all", Way(trace(place, "--all"))
    yield HOOKED, Way(environment={"LD_PRELOAD": HOOK})
    yield f"{HOOKED}, gdbcuda trace", Way(trace(place, "--hook", HOOK))
    yield from of_the_gpu(place)


def of_the_gpu(place: Path) -> Iterator[tuple[str, Way]]:
    if not has_driver():
        return
    if places.built(places.GPU):
        yield "gdbcuda trace --gpu", Way(trace(place, "--gpu"))
    for name, kinds in (("CUPTI: kernels, copies, fills", WORK), ("CUPTI: these and all calls", AND_CALLS)):
        library = with_cupti(place / f"records{len(kinds)}.so", kinds)
        if library:
            yield name, Way(environment={"CUDA_INJECTION64_PATH": library})
    if shutil.which("nsys"):
        yield "nsys profile", Way(["nsys", "profile", "-t", "cuda", "-f", "true", "-o", str(place / "nsys")])


def of_others(place: Path) -> Iterator[tuple[str, Way]]:
    """The other ways that ``gdbcuda trace`` and gdb have."""
    yield ALONE, Way()
    yield "gdbcuda trace", Way(trace(place))
    yield "cuda-log start --fast, in gdb", Way(in_gdb("cuda-log start --fast"))
    log = ["-o", str(place / "trace" / "log.jsonl")]
    if not [*needs.missing()] and os.geteuid() == 0:
        yield "uprobe", Way([*trace(place)[:4], "--with", "uprobe", *log, "--"], is_slow=True)
    if shutil.which("strace"):
        yield "strace", Way([*trace(place)[:4], "--with", "strace", *log, "--"])
    yield from of_the_gpu(place)
    yield "cuda-log start, by stops", Way(in_gdb("cuda-log start"), is_slow=True)


def of_first_calls(place: Path) -> Iterator[tuple[str, Way]]:
    yield ALONE, Way()
    yield "gdbcuda trace", Way(trace(place))
    yield "gdb -batch", Way([GDB, "-nx", "-q", "-batch", "-ex", "run", "--args"])
    yield "gdb -batch, cuda-log start --fast", Way(in_gdb("cuda-log start --fast"))
    unread = ("-iex", "set auto-solib-add off")
    yield "the same, gdb reads no other libraries", Way(in_gdb("cuda-log start --fast", before=unread))


def trace(place: Path, *options: str) -> list[str]:
    words = [sys.executable, "-m", "gdbcuda", "trace"]
    return [*words, "-o", str(place / "trace" / "calls"), *options, "--"]


def in_gdb(*commands: str, before: Sequence[str] = ()) -> list[str]:
    words = [word for line in (*commands, "run") for word in ("-ex", line)]
    return [GDB, "-nx", "-q", "-batch", *before, "-x", str(ROOT / "gdbcuda.py"), *words, "--args"]


def steps() -> tuple[str, dict[str, float]]:
    """The program, and median microseconds of a step by each way."""
    return in_turns(ways, step)


def steps_by_others() -> tuple[str, dict[str, float]]:
    return in_turns(of_others, step)


def first_calls() -> tuple[str, dict[str, float]]:
    """Median seconds from the start until the first call has returned."""
    return in_turns(of_first_calls, first)


def in_turns(made: Callable[[Path], Iterator[tuple[str, Way]]],
             measure: Callable[[Program, Way, Path], float]) -> tuple[str, dict[str, float]]:  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run, all_ways = program(place), dict(made(place))
        found: dict[str, list[float]] = {name: [] for name in all_ways}
        for turn in range(ROUNDS):
            for name, way in all_ways.items():
                if not (way.is_slow and turn):
                    found[name] += tried(partial(measure, run, way, place), name)
        return run.name, {name: statistics.median(some) for name, some in found.items() if some}


def tried(measure: Callable[[], float], name: str) -> list[float]:
    """One way that takes too long leaves the others their rows."""
    try:
        return [measure()]
    except subprocess.TimeoutExpired:
        print(f"{name}: not over after {LONGEST} s", file=sys.stderr)
        return []


def step(run: Program, way: Way, place: Path) -> float:
    how_often = FEW if way.is_slow else (str(PHASES), str(TIMES))
    text = output_of([*way.words, *run.step, *how_often], {**run.environment, **way.environment}, place)
    took = [float(one) for one in re.findall(r"took ([\d.]+) us each", text)]
    assert took and "CUPTI does not give" not in text, text
    return statistics.median(took)


def first(run: Program, way: Way, place: Path) -> float:
    start = time.monotonic()
    text = output_of([*way.words, *run.first], {**run.environment, **way.environment}, place)
    found = re.search(r"^first ([\d.]+)", text, re.MULTILINE)
    assert found, text
    return float(found[1]) - start


def output_of(line: Sequence[str], more: dict[str, str], place: Path) -> str:
    shutil.rmtree(place / "trace", ignore_errors=True)
    (place / "trace").mkdir()
    return subprocess.run(line, cwd=place, env={**with_extension(), **more}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          timeout=LONGEST).stdout  # fmt: skip
