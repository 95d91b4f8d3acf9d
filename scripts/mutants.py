"""One small fault after another in a room of the core: which of them do its unit tests not see?

Each mutant runs in a fork in which the room is imported for the first time, so nothing on the disk changes."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutations import Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent
UNIT = ROOT / "tests" / "unit"
QUIET = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
LEAST_SECONDS = 30.0  # what takes longer than this, and five times as long as without a fault, hangs
KILLED, SURVIVED, HUNG = "killed", "survived", "hung"


class OneFile(importlib.machinery.SourceFileLoader):
    """Imports a mutant in the place of its file, and leaves no bytecode of it. (importlib's finder and loader.)"""

    def __init__(self, mutant: Mutant) -> None:
        parts = mutant.path.relative_to(ROOT).with_suffix("").parts
        super().__init__(".".join(parts[:-1] if parts[-1] == "__init__" else parts), str(mutant.path))
        self.text = mutant.text

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, name: str) -> object:
        return compile(self.text, self.path, "exec", dont_inherit=True)


def tests_of(room: str) -> list[Path]:
    """The unit tests that import the room, themselves or through a helper in their folder."""
    helpers = {path.stem: path for path in UNIT.glob("*.py")}

    def reaches(path: Path, seen: frozenset[Path]) -> bool:
        names = set(imported(path))
        if any(name == f"gdbcuda.{room}" or name.startswith(f"gdbcuda.{room}.") for name in names):
            return True
        ours = {helpers[name] for name in names & helpers.keys()} - seen
        return any(reaches(one, seen | ours) for one in ours)

    return [path for path in sorted(UNIT.glob("test_*.py")) if reaches(path, frozenset([path]))]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def started(tests: list[Path], mutant: Mutant | None) -> int:
    """The fork that runs the tests; it ends with pytest's exit status."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    if mutant:
        sys.meta_path.insert(0, OneFile(mutant))
    try:
        status = int(pytest.main([*QUIET, *map(str, tests)]))
    except BaseException:  # a fault that the tests' own files die of
        status = 1
    os._exit(status)


def outcomes(tests: list[Path], chosen: list[Mutant], jobs: int, limit: float) -> Iterator[tuple[Mutant, str]]:
    """In the order in which they end."""
    waiting, running = list(reversed(chosen)), dict[int, tuple[Mutant, float]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[started(tests, mutant)] = mutant, time.monotonic() + limit
        time.sleep(0.02)
        for pid, (mutant, end) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            is_late = not ended and time.monotonic() > end
            if ended or is_late:
                stop(pid, is_late)
                del running[pid]
                yield mutant, HUNG if is_late else KILLED if status else SURVIVED


def stop(pid: int, is_running: bool) -> None:
    """And what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if is_running:
        os.waitpid(pid, 0)


def seconds(tests: Path) -> float:
    """Without a fault."""
    start = time.monotonic()
    if os.waitpid(started([tests], None), 0)[1]:
        sys.exit(f"mutants: fails without any fault: {tests.relative_to(ROOT)}")
    return time.monotonic() - start


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    parser.add_argument("folder", nargs="+", help="a room (routes), or one of its files (gdbcuda/routes/judge.py)")
    parser.add_argument("--sample", type=int, metavar="N", help="so many, chosen at random; without: all")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="chooses the same again (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="tests that run at once")
    return parser.parse_args()


def files_of(word: str) -> list[Path]:
    path = next((one for one in (ROOT / word, ROOT / "gdbcuda" / word) if one.exists()), None)
    if path is None or ROOT / "gdbcuda" not in path.resolve().parents:
        sys.exit(f"mutants: {word} is no room and no file of gdbcuda/")
    return [path.resolve()] if path.is_file() else sorted(path.resolve().rglob("*.py"))


def room_of(path: Path) -> str:
    """ "routes"; gdbcuda/errors.py is one of its own."""
    return path.relative_to(ROOT / "gdbcuda").with_suffix("").parts[0]


def main() -> int:
    asked = arguments()
    os.chdir(ROOT)
    files = [path for word in asked.folder for path in files_of(word)]
    found = [mutant for path in files for mutant in mutants(path)]
    chosen = random.Random(asked.seed).sample(found, min(asked.sample or len(found), len(found)))
    counts: Counter[str] = Counter()
    for room in sorted({room_of(mutant.path) for mutant in chosen}):
        tests = tests_of(room)
        if not tests:
            sys.exit(f"mutants: no unit test imports gdbcuda.{room}")
        times = {path: seconds(path) for path in tests}
        limit, tests = max(LEAST_SECONDS, 5 * sum(times.values())), sorted(tests, key=times.__getitem__)
        mine = [mutant for mutant in chosen if room_of(mutant.path) == room]
        for mutant, outcome in outcomes(tests, mine, asked.jobs, limit):
            counts[outcome] += 1
            if outcome == SURVIVED:
                print(mutant.diff(ROOT), end="\n\n", flush=True)
    killed = counts[KILLED] + counts[HUNG]
    print(f"{killed} of {len(chosen)} mutants killed ({killed * 100 // max(len(chosen), 1)} %), {counts[HUNG]} of them"
          f" by the time limit; {len(found)} there are; --seed {asked.seed}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
