"""Runs the scenarios in each gdb and prints what passed, failed and was skipped; scripts/matrix calls it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import debian_gdb
import gdb_suite
import suite_shown
from debian_gdb import RELEASES, Unavailable, say

from gdbcuda.text.render import table

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/gdb", "tests/clients")
FAILED, NOT_ALL = 1, 3  # exit status: a test failed; every test passed in the gdbs that could be had


@dataclass
class Outcome:
    """One gdb's run: tests by what became of them, as "test_break.py::test_name", with the reason behind them."""

    gdb: str
    version: str = ""
    unavailable: str = ""
    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    seconds: float = 0


def main() -> int:
    args, pytest_arguments = arguments(sys.argv[1:])
    if args.list:
        print("\n".join(RELEASES))
        return 0
    if args.gdb_suite is not None:
        return compare_suites(args)
    names = args.gdb or list(RELEASES)
    if args.get:  # mostly it waits for the network
        with ThreadPoolExecutor(len(names)) as pool:
            outcomes = list(pool.map(lambda name: run(name, [], True), names))
    else:
        outcomes = [run(name, pytest_arguments, False) for name in names]
        print(json.dumps([asdict(one) for one in outcomes], indent=1) if args.json else shown(outcomes))
        if any(one.failed or not (one.passed or one.unavailable) for one in outcomes):
            return FAILED
    return NOT_ALL if any(one.unavailable for one in outcomes) else 0


def arguments(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(prog="scripts/matrix",
                                     usage="%(prog)s [GDB...] [--json] [-- PYTEST ARGUMENTS]\n       "
                                     "%(prog)s [GDB...] --gdb-suite [FILE...] [--differing] [--again] [--json]",
                                     description="The scenarios and the clients in several gdbs.")  # fmt: skip
    parser.add_argument("gdb", nargs="*", metavar="GDB", help=f"{', '.join(RELEASES)}, or the path of any gdb")
    parser.add_argument("--json", action="store_true", help="as JSON, with the name of every test")
    parser.add_argument("--list", action="store_true", help="print the names of the gdbs that can be had")
    parser.add_argument("--get", action="store_true", help="only download and unpack them")
    parser.add_argument("--gdb-suite", nargs="*", metavar="FILE",
                        help="gdb's own suite, with and without the extension; its files, folders, globs")  # fmt: skip
    parser.add_argument("--differing", action="store_true", help="only its files that differed the last time")
    parser.add_argument("--again", action="store_true", help="results that were kept do not count")
    return parser.parse_args(words[:cut]), words[cut + 1 :]


def compare_suites(args: argparse.Namespace) -> int:
    wish = gdb_suite.Wish(tuple(args.gdb_suite), args.again, args.differing)
    outcomes = [gdb_suite.compare(name, wish) for name in args.gdb or gdb_suite.USUAL]
    print(suite_shown.as_json(outcomes) if args.json else suite_shown.as_text(outcomes))
    if any(one.having("differs") for one in outcomes):
        return FAILED
    return NOT_ALL if any(one.unavailable for one in outcomes) else 0


def run(name: str, pytest_arguments: list[str], only_get: bool) -> Outcome:
    outcome = Outcome(name)
    try:
        program, path = find(name)
        outcome.version = version(program)
    except Unavailable as problem:
        outcome.unavailable = str(problem)
        say(f"scripts/matrix: {name} cannot be had: {problem}")
        return outcome
    say(f"{name}: {outcome.version}")
    if only_get:
        return outcome
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        pytest(program, path, report, pytest_arguments)
        read(report, outcome)
    return outcome


def find(name: str) -> tuple[str, str]:
    """The gdb's path, and the PATH on which its gdbserver comes first."""
    before = os.environ.get("PATH", "")
    if name in RELEASES:
        folder = debian_gdb.get(name)
        return str(folder / RELEASES[name].program), f"{folder}{os.pathsep}{before}"
    found = shutil.which(name)
    if not found:
        raise Unavailable(f"no such program, and none of {', '.join(RELEASES)}")
    return found, before


def version(program: str) -> str:
    """The line of --version that names it: cuda-gdb has NVIDIA's above and its gdb's below."""
    lines = debian_gdb.command([program, "-nx", "--version"]).splitlines()
    based = next((line for line in lines if "GNU gdb" in line), "")
    return based if lines[0] == based else f"{lines[0]}, {based}"


def pytest(program: str, path: str, report: Path, more: list[str]) -> None:
    jobs = os.environ.get("GDBCUDA_TEST_JOBS") or str(os.cpu_count())
    paths = () if any((ROOT / word.partition("::")[0]).exists() for word in more) else TESTS
    workers = [] if jobs == "1" else ["-n", jobs]  # one worker would collect all that pytest has just collected
    line = [sys.executable, "-m", "pytest", "-q", *workers, f"--junitxml={report}", *paths, *more]
    subprocess.run(line, cwd=ROOT, stdout=sys.stderr, check=False,
                   env={**os.environ, "GDBCUDA_GDB": program, "PATH": path, "TMPDIR": str(report.parent)})  # fmt: skip


def read(report: Path, outcome: Outcome) -> None:
    if not report.exists():
        outcome.failed["pytest"] = "it did not come to its end"
        return
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname', '').rpartition('.')[2]}.py::{case.get('name')}"
        outcome.seconds += float(case.get("time") or 0)
        ended = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        why = reason(ended.get("message") or "") if ended is not None else ""
        if ended is None:
            outcome.passed.append(test)
        elif ended.tag == "skipped":
            outcome.skipped[test] = why
        else:
            outcome.failed[test] = why


def reason(message: str) -> str:
    """A failed assertion shows all of gdb's text first; what was asserted comes after it."""
    lines = message.strip().splitlines() or [""]
    return next((line for line in lines if line.startswith("assert ")), lines[0])


def shown(outcomes: list[Outcome]) -> str:
    return "\n\n".join(filter(None, [totals(outcomes), reasons(outcomes, "failed"), reasons(outcomes, "skipped")]))


def totals(outcomes: list[Outcome]) -> str:
    rows = [
        (o.gdb, f"not run: {o.unavailable}" if o.unavailable else o.version,
         len(o.passed), len(o.failed), len(o.skipped), f"{o.seconds:.0f} s")
        for o in outcomes
    ]  # fmt: skip
    return table(rows, ["gdb", "version", "passed", "failed", "skipped", "time"])


def reasons(outcomes: list[Outcome], what: str) -> str:
    """Failures by test, skips by reason; each with the gdbs in which it was so."""
    rows: dict[tuple[str, str], list[str]] = {}
    for one in outcomes:
        found: dict[str, str] = getattr(one, what)
        if what == "failed":
            for test, why in found.items():
                rows.setdefault((test, why[:100]), []).append(one.gdb)
        else:
            for why, count in Counter(found.values()).items():
                rows.setdefault((str(count), why), []).append(one.gdb)
    titles = ["failed" if what == "failed" else "skipped", "why", "in"]
    return table([(*key, ", ".join(gdbs)) for key, gdbs in rows.items()], titles) if rows else ""


if __name__ == "__main__":
    sys.exit(main())
