"""gdb's own test suite, with and without the extension: scripts/matrix --gdb-suite calls it.

The suite is that of the gdb's own version, out of Debian's source package. What differs is run again, alone, both ways,
before it counts. Results are kept by file, as long as gdb, suite, compiler and extension stay the same."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import shutil
import signal
import sys
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import suite_run
from debian_gdb import CACHE, RELEASES, Unavailable, command, from_a_mirror, get, locked, say
from suite_run import BARE, WAYS, WITH, Limit, Run, Suite
from suite_verdict import Record, Verdict

ROOT = Path(__file__).resolve().parent.parent
LIMIT = Limit(900, 10)  # for a file without the extension
MORE = 2  # so many timeouts more with it are enough
USUAL = ("13.1", "16.3")
# a folder of the suite, and the compiler without which it has nothing to run; "" is no program
NEEDS = {"gdb.ada": "gnatmake", "gdb.fortran": "gfortran", "gdb.go": "gccgo", "gdb.rust": "rustc", "gdb.pascal": "fpc",
         "gdb.dlang": "gdc", "gdb.modula2": "gm2", "gdb.objc": "gobjc", "gdb.opencl": "clinfo", "gdb.rocm": "hipcc",
         "gdb.perf": "", "gdb.gdb": "", "gdb.stabs": ""}  # fmt: skip
WHY_NOT = {"gdb.perf": "measures times", "gdb.gdb": "needs the folder in which gdb was built",
           "gdb.stabs": "gcc has no stabs any more"}  # fmt: skip
CANARY = "gdb.gdbcuda/loaded.exp"
CANARY_TEXT = """gdb_exit
gdb_start
foreach {answer name} {True loaded False absent} { set said($answer) $name }
gdb_test_multiple "python import sys; print('gdbcuda.live.layers.this_snapshot' in sys.modules)" "the extension" {
    -re "(True|False)\\r\\n$gdb_prompt $" { pass $said($expect_out(1,string)) }
}
"""


@dataclass
class Outcome:
    """What the suite said in one gdb."""

    gdb: str
    unavailable: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    seconds: float = 0

    def having(self, what: str) -> dict[str, dict[str, tuple[str, str]]]:
        return {file: found for file, verdict in self.verdicts.items() if (found := getattr(verdict, what))}


@dataclass(frozen=True)
class Wish:
    """Which files; ``again``: what was kept does not count; ``differing``: only those that differed the last time."""

    patterns: tuple[str, ...] = ()
    again: bool = False
    differing: bool = False


def compare(name: str, wish: Wish) -> Outcome:
    outcome, started = Outcome(name), time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with locked(f"suite-{name}"):
            suite = prepared(name)
            keys = made_of(suite)
            Session(suite, keys, wish, outcome).run()
    except Unavailable as problem:
        outcome.unavailable = str(problem)
        say(f"scripts/matrix: gdb's suite for {name} cannot be had: {problem}")
    outcome.seconds = time.monotonic() - started
    return outcome


def prepared(name: str) -> Suite:
    if name not in RELEASES or not RELEASES[name].source:
        having = ", ".join(key for key, release in RELEASES.items() if release.source)
        raise Unavailable(f"the suite goes with the gdb's own sources; they are known for {having}")
    program, home = get(name), CACHE / f"suite-{name}"
    tests = source(name, home / "source")
    canary = tests / CANARY
    canary.parent.mkdir(exist_ok=True)
    canary.write_text(CANARY_TEXT)
    for way in WAYS:
        begin(home / way, tests)
    extension = copied(home / "extension")
    return Suite(tests, home, program / RELEASES[name].program, program / "gdbserver", extension, nothing(extension))


def source(name: str, home: Path) -> Path:
    """The folder gdb/testsuite of the source package; it is all that is unpacked."""
    if not home.exists():
        part, state = home.with_suffix(".part"), home.with_suffix(".apt")
        for folder in (part, state):
            shutil.rmtree(folder, ignore_errors=True)
        from_a_mirror("deb-src", name, RELEASES[name], state, ["source", "--download-only", RELEASES[name].source])
        say(f"{name}: unpacking gdb's test suite into {home}")
        with tarfile.open(next(state.glob("*.orig.tar.?z"))) as archive:
            archive.extractall(part, members=(m for m in archive if "/gdb/testsuite/" in m.name))
        shutil.rmtree(state)
        part.rename(home)
    return next(home.glob("*/gdb/testsuite"))


def begin(folder: Path, tests: Path) -> None:
    """What gdb's configure would have written, and nothing of another run."""
    for old in ("temp", "cache"):
        shutil.rmtree(folder / old, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    machine = f"{os.uname().machine}-pc-linux-gnu"
    lines = [f"set {part} {machine}" for part in ("host_triplet", "build_triplet", "target_triplet", "target_alias")]
    lines += [f"set srcdir {tests}", "set tool gdb", "set enable_libctf no"]
    lines += ["source $srcdir/lib/append_gdb_boards_dir.exp"]
    (folder / "site.exp").write_text("\n".join(lines) + "\n")


def copied(home: Path) -> Path:
    """The extension: who works on the tree meanwhile does not disturb the run."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    shutil.copy(ROOT / "gdbcuda.py", home)
    shutil.copytree(ROOT / "gdbcuda", home / "gdbcuda")
    (home / ".venv").symlink_to(ROOT / ".venv")
    leave_hint_out(home / "gdbcuda" / "live" / "welcome.py")
    return home / "gdbcuda.py"


def leave_hint_out(file: Path) -> None:
    """The hint at the start is wanted, and tests of what a terminal shows would not come further than to it."""
    before, after = "\n_prompted = False\n", "\n_prompted = True\n"
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))


def nothing(extension: Path) -> Path:
    empty = extension.with_name("nothing.py")
    empty.touch()
    return empty


def made_of(suite: Suite) -> dict[str, str]:
    """What each way's results depend on."""
    bare = "; ".join([command([suite.gdb, "-nx", "--version"]).splitlines()[0], suite.tests.parent.parent.name,
                      command(["gcc", "--version"]).splitlines()[0]])  # fmt: skip
    code = hashlib.sha256()
    for path in sorted(suite.extension.parent.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            code.update(f"{path.relative_to(suite.extension.parent)}\0".encode() + path.read_bytes())
    return {BARE: bare, WITH: f"{bare}; {code.hexdigest()[:16]}"}


class Session:
    def __init__(self, suite: Suite, keys: dict[str, str], wish: Wish, outcome: Outcome) -> None:
        self.suite, self.keys, self.wish, self.outcome = suite, keys, wish, outcome
        self.done, self.started, self.is_stopped = 0, time.monotonic(), False

    def run(self) -> None:
        self.check_canary()
        self.outcome.records = [self.record(file) for file in self.files()]
        if self.wish.differing:
            self.outcome.records = [record for record in self.outcome.records if record.differed]
        todo = [record for record in self.outcome.records if not record.is_begun()]
        say(f"{self.outcome.gdb}: {len(self.outcome.records)} files of gdb's suite, {len(todo)} of them to run")
        pool = ThreadPoolExecutor(int(os.environ.get("GDBCUDA_TEST_JOBS") or os.cpu_count() or 1))
        try:
            list(pool.map(lambda record: self.first(record, len(todo)), todo))
            for record in self.outcome.records:
                self.outcome.verdicts[record.file] = self.settled(record)
        except KeyboardInterrupt:
            self.is_stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            suite_run.end_marked(suite_run.MARK)
            sys.exit("scripts/matrix: interrupted; the same command goes on with what is missing")

    def check_canary(self) -> None:
        for way, expected in ((BARE, "absent"), (WITH, "loaded")):
            found = self.once(way, CANARY, LIMIT, alone=True).results
            if found != {expected: ["PASS"]}:
                log = self.suite.output(way, CANARY) / "gdb.log"
                raise Unavailable(f"the extension should be {expected} in it, and is not: {log}")

    def record(self, file: str) -> Record:
        path = self.suite.home / "results" / f"{file.removesuffix('.exp')}.json"
        if self.wish.again and path.exists() and not self.wish.differing:
            path.unlink()
        return Record(path, file, self.keys)

    def files(self) -> list[str]:
        return sorted(set(chosen(self.suite.tests, self.wish.patterns, self.outcome.left_out)))

    def once(self, way: str, file: str, limit: Limit, alone: bool) -> Run:
        return suite_run.run(self.suite, way, file, limit, Run(self.keys[way], alone))

    def first(self, record: Record, of: int) -> None:
        for way in WAYS:
            if not record.runs[way]:
                found = self.once(way, record.file, self.limit(record, way), alone=False)
                if self.is_stopped:  # and so was what it ran
                    return
                record.add(way, found)
        self.progress(record, of)

    def progress(self, record: Record, of: int) -> None:
        found = record.verdict()
        record.note(found)  # a run that is cut off here goes on with --differing
        self.done += 1
        if found.differs or self.done % 25 == 0:
            spent = time.monotonic() - self.started
            differing = f": {len(found.differs)} results differ" if found.differs else ""
            say(f"[{self.done}/{of}, {spent / 60:.0f} min, {spent / self.done * (of - self.done) / 60:.0f} to go] "
                f"{record.file}{differing}")  # fmt: skip

    def limit(self, record: Record, way: str) -> Limit:
        if way == BARE:
            return LIMIT
        return Limit(LIMIT.seconds, MORE + max(run.timeouts for run in record.runs[BARE]))

    def settled(self, record: Record) -> Verdict:
        """Runs the file alone, in turn without and with, until what differs is certain."""
        while (verdict := record.verdict()).is_open:
            say(f"again, alone: {record.file}, {len(verdict.differs)} results differ so far")
            for way in WAYS:
                record.add(way, self.once(way, record.file, self.limit(record, way), alone=True))
        record.note(verdict)
        return verdict


def chosen(tests: Path, patterns: tuple[str, ...], left_out: dict[str, str]) -> Iterator[str]:
    """The files that the patterns name, each a file, a folder or a glob; without patterns all that can run here."""
    known = {str(path.relative_to(tests)) for path in tests.glob("gdb.*/**/*.exp")} - {CANARY}
    for pattern in patterns:
        glob = pattern if pattern.endswith(".exp") else f"{pattern.rstrip('/')}/*"
        found = fnmatch.filter(known, glob)
        if not found:
            sys.exit(f"scripts/matrix: gdb's suite has no {pattern}; name a folder (gdb.base), a file in it, or a glob")
        yield from found
    for file in () if patterns else known:
        folder = file.partition("/")[0]
        needed = NEEDS.get(folder)
        if needed is None or (needed and shutil.which(needed, path=suite_run.SEARCHED)):
            yield file
        else:
            left_out[folder] = WHY_NOT.get(folder, f"needs {needed}")
