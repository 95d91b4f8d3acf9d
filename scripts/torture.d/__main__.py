"""Random hook libraries and programs, alone and under gdb with random breakpoints: nothing may differ.

Each finding is one line with the seed and the number that replay it. A fault that gdb's own breakpoints
have at the same places, without the extension, is marked so and does not count; nor does a run that was slow.
Ends with 1 where something was found, with 3 where the gdb could not be had.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

import building  # noqa: E402
import cases  # noqa: E402
import compilers  # noqa: E402
import matrix  # noqa: E402
import processes  # noqa: E402
import sessions  # noqa: E402
import watches  # noqa: E402
from cases import Result, Work  # noqa: E402
from kinds import Kind, files  # noqa: E402
from lines import Tools  # noqa: E402
from reporting import report, say, tell  # noqa: E402
from sessions import PER_BUILD  # noqa: E402

FOUND, NOTHING_ASKED, NO_GDB = 1, 2, 3
ENDING = (signal.SIGINT, signal.SIGTERM)
SILENCE = 30  # seconds, and then it says that it is at work: a build's cases are told together
ENOUGH = 1000  # builds without a case that is wanted: there is none


def main() -> int:
    args = arguments()
    kinds = all_kinds()
    if args.list:
        print("\n".join(f"{kind.group:9} {kind.name:20} {kind.about}" for kind in kinds))
        return 0
    unknown = {*args.only, *args.without} - {kind.name for kind in kinds}
    if unknown:
        say(f"torture: no kind is called {', '.join(sorted(unknown))} (scripts/torture --list)")
        return NOTHING_ASKED
    began = time.monotonic()
    try:
        results = run(args)
    except matrix.Unavailable as problem:
        say(f"torture: {args.gdb} cannot be had: {problem}")
        return NO_GDB
    tried = set().union(*(result.kinds for result in results))
    report(
        args,
        results,
        time.monotonic() - began,
        [kind.name for kind in kinds if kind.name not in tried and "byhand" not in kind.words],
    )
    bad = [one for result in results for one in result.findings if not one.is_gdbs]
    return FOUND if bad or any(result.error for result in results) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=2, help="how long (default: 2, in which every kind comes once)")
    add("--cases", type=int, help="so many cases, however long they take")
    add("--seed", type=int, help="the same seed makes the same cases (default: by chance)")
    add("--case", type=int, help="only this case of the seed")
    add("--repeat", type=int, default=1, help="each case so many times")
    add(
        "--only",
        action="append",
        default=[],
        metavar="KIND",
        help="only cases with this kind in them; several: with all",
    )
    add("--without", action="append", default=[], metavar="KIND", help="no cases with this kind in them")
    add("--list", action="store_true", help="print the kinds")
    add("--gdb", default="gdb", help="a gdb of scripts/matrix by its name, or any gdb's path")
    add("--control", action="store_true", help="only gdb, without the extension: what it gets wrong by itself")
    add("--quick", action="store_true", help="do not repeat what was found; try it once without the extension")
    add("--extension", type=Path, default=ROOT / "gdbcuda.py", help="what gdb sources (default: gdbcuda.py)")
    add("--jobs", type=int, default=os.cpu_count(), help="cases at a time (default: as many as processors)")
    add("--keep", type=Path, help="the folder for what a finding leaves (default: a new one)")
    add("--json", action="store_true", help="the result as JSON")
    args = parser.parse_args()
    args.is_interrupted = False
    args.seed = random.SystemRandom().randrange(100000) if args.seed is None else args.seed
    return args


def all_kinds() -> list[Kind]:
    registries = (sessions.starts, watches.watches, sessions.deeds, sessions.ends)
    made = [kind for registry in registries for kind in registry.kinds]
    return [*files("shapes"), *files("parts"), *compilers.kinds(), *made]


def run(args: argparse.Namespace) -> list[Result]:
    program, path = matrix.find(args.gdb)
    server = shutil.which("gdbserver", path=path) or "gdbserver"
    folder: Path = args.keep or Path(tempfile.mkdtemp(prefix="torture-"))
    args.folder = folder.resolve() / f"seed-{args.seed}"
    shutil.rmtree(args.folder, ignore_errors=True)
    say(f"torture: --seed {args.seed}, {matrix.version(program)}")
    tools = Tools(program, server, args.extension.resolve())
    results: list[Result] = []
    processes.adopt_orphans()
    for one in ENDING:
        signal.signal(one, interrupt)
    with ProcessPoolExecutor(args.jobs, initializer=leave_ending_to_parent) as pool:
        try:
            play_all(args, tools, pool, results)
        except (KeyboardInterrupt, OSError) as problem:
            if isinstance(problem, OSError):  # no room on the disk, say
                say(f"torture: {problem}")
            pool.shutdown(wait=False, cancel_futures=True)
            end_all(args.folder)
            args.is_interrupted = True
    return results


def interrupt(number: int, frame: object) -> None:
    """`timeout` sends its signal to this process and to its group: the second one is not to interrupt the end."""
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def leave_ending_to_parent() -> None:
    """A worker that ends first leaves its gdb behind. What is ignored stays so in the programs that it starts."""
    for one in ENDING:
        signal.signal(one, lambda number, frame: None)


def end_all(folder: Path) -> None:
    while found := list(filter(processes.alive, {*processes.below(folder), *processes.descendants(os.getpid())})):
        for pid in found:
            processes.send(pid, signal.SIGKILL)
        time.sleep(0.05)


def play_all(args: argparse.Namespace, tools: Tools, pool: ProcessPoolExecutor, results: list[Result]) -> None:
    waiting: set[Future[Result]] = set()
    for work in works(args, tools):
        waiting.add(pool.submit(cases.play, work))
        while len(waiting) >= args.jobs:
            waiting = collect(args, waiting, results)
    while waiting:
        waiting = collect(args, waiting, results)


def collect(args: argparse.Namespace, waiting: set[Future[Result]], results: list[Result]) -> set[Future[Result]]:
    done, left = wait(waiting, SILENCE, FIRST_COMPLETED)
    if not done:
        say(f"torture: {sum(len(one.cases) for one in results)} cases so far; programs at work: {len(left)}")
    for one in done:
        results.append(one.result())
        tell(args, results)
    return left


def works(args: argparse.Namespace, tools: Tools) -> Iterator[Work]:
    """Builds in order, with those of their sessions that are wanted, until the time is up or there are enough."""
    in_time = args.cases is None and args.case is None
    until = time.monotonic() + args.minutes * 60 if in_time else float("inf")
    number, left = (args.case // PER_BUILD, 1) if args.case is not None else (0, args.cases or 1 << 40)
    last, alone = number, by_hand(args)
    while time.monotonic() < until and left > 0 and number < last + ENOUGH:
        build = building.choose(args.seed, number, args.folder, alone)
        wanted = [one for one in range(PER_BUILD) if is_wanted(args, build, one)][:left]
        left -= len(wanted)
        if wanted:
            last = number
            yield Work(args.seed, number, wanted * args.repeat, tools, args.folder, until, not args.quick, alone,
                       args.control)  # fmt: skip
        number += 1


def by_hand(args: argparse.Namespace) -> Kind | None:
    named = [part for part in files("parts") if part.name in args.only and "byhand" in part.words]
    return named[0] if named else None


def is_wanted(args: argparse.Namespace, build: building.Build, session: int) -> bool:
    if args.case is not None:
        return bool(args.case == build.number * PER_BUILD + session)
    kinds = build.kinds() | sessions.choose(build, session).kinds()
    return set(args.only) <= kinds and not set(args.without) & kinds


if __name__ == "__main__":
    sys.exit(main())
