"""One file of gdb's own test suite, run by dejagnu in an environment of its own, and what came out of it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

WAYS = BARE, WITH = "bare", "with"  # of one length: a path in a line of gdb's moves nothing
MARK = f"GDBCUDA_SUITE={os.getpid()}-"  # in the environment of all that the tests start
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KINDS = "PASS|FAIL|XPASS|XFAIL|KPASS|KFAIL|UNTESTED|UNRESOLVED|UNSUPPORTED|ERROR"
RESULT = re.compile(rf"({KINDS}): (?:gdb\.\S+\.exp: )?(.*)")
# what is another in each run: a place in the run's folder, an address, a process, a port
VARIES = ((re.compile(r"0x[0-9a-f]+"), "0xN"), (re.compile(r"\d{4,}"), "N"))
REMARK = re.compile(r"\s+\([^()]*\)$")  # dejagnu's rule: what stands in parentheses at the end is no part of the name
SPAWNED = re.compile(r"^(?:builtin_)?spawn .*", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """The suite of one gdb, and the folder in which it runs: in it one for each way, with all that the tests write."""

    tests: Path
    home: Path
    gdb: Path
    server: Path
    extension: Path
    nothing: Path  # a script that gdb loads in the other way: -x alone makes another exit status of -batch

    def folder(self, way: str) -> Path:
        return self.home / way

    def output(self, way: str, file: str) -> Path:
        return self.folder(way) / "outputs" / file.removesuffix(".exp")


@dataclass
class Run:
    """What one run of a file said: the results by name, sorted, for a name may come several times."""

    key: str  # of what was run; another key and the run says nothing any more
    alone: bool  # nothing else of ours ran meanwhile
    seconds: float = 0
    timeouts: int = 0  # results that came by waiting too long, a minute each
    gdbs: int = 0
    loaded: int = 0  # so many of them were started with the extension
    results: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Limit:
    """A test that hangs says so after a minute, and the next one hangs too: after some of them the file is cut off."""

    seconds: float
    timeouts: int

    def is_over(self, started: float, log: Path) -> str:
        if time.monotonic() - started > self.seconds:
            return f"did not end in {self.seconds:.0f} s"
        return "cut off after timeouts" if timeouts(text(log)) > self.timeouts else ""


def run(suite: Suite, way: str, file: str, limit: Limit, begun: Run) -> Run:
    """Fills ``begun``. Leaves the file's gdb.sum and gdb.log; processes and binaries of the tests go."""
    output, house = suite.output(way, file), suite.folder(way) / "home" / file
    for folder in (output, house):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    mark = f"{MARK}{way}-{file}-"
    started = time.monotonic()
    words, environ = command(suite, way, file, output), environment(house, mark)
    cut = wait(words, suite.folder(way), environ, lambda: limit.is_over(started, output / "gdb.log"))
    end_marked(mark)
    begun.seconds = round(time.monotonic() - started, 1)
    begun.results = results(text(output / "gdb.sum"), suite.folder(way))
    if cut:
        begun.results["(the whole file)"] = [cut]
    for left in sorted(p.relative_to(house) for p in house.rglob("*") if p.is_file()):
        begun.results[f"(written into HOME: {left})"] = ["WRITTEN"]
    log = text(output / "gdb.log")
    begun.gdbs, begun.loaded = started_gdbs(log, suite)
    begun.timeouts = timeouts(log)
    clear(output, house)
    return begun


def command(suite: Suite, way: str, file: str, output: Path) -> list[str]:
    script = suite.extension if way == WITH else suite.nothing
    return ["runtest", f"GDB={suite.gdb}", f"GDBSERVER={suite.server}", f"GDBFLAGS=-x {script}", "GDB_PARALLEL=yes",
            "--outdir", str(output), file]  # fmt: skip


def environment(house: Path, mark: str) -> dict[str, str]:
    """Nothing of the user's: no HOME, no XDG_*, no GDBHISTFILE, no settings of compilers or of debuginfod."""
    name, _, value = mark.partition("=")
    return {"PATH": SEARCHED, "HOME": str(house), "TERM": "dumb", "SHELL": "/bin/sh", "USER": "nobody", name: value}


def wait(words: list[str], folder: Path, environ: dict[str, str], is_over: Callable[[], str]) -> str:
    """Until the command ends, then "", or until it is over, and why."""
    with open(os.devnull, "r+b") as null:
        process = subprocess.Popen(words, cwd=folder, env=environ, stdin=null, stdout=null, stderr=null,
                                   start_new_session=True)  # fmt: skip
    try:
        while process.poll() is None:
            why = is_over()
            if why:
                return why
            time.sleep(0.2)
        return ""
    finally:
        process.kill()
        process.wait()


def end_marked(mark: str) -> None:
    """What the tests have started and left behind, each in a session of its own: all inherit the mark."""
    for _ in range(20):
        found = [pid for pid in os.listdir("/proc") if pid.isdigit() and mark.encode() in environment_of(pid)]
        for pid in found:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except OSError:
                continue
        if not found:
            return
        time.sleep(0.1)


def environment_of(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def results(summary: str, folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in summary.replace(str(folder), "FOLDER").splitlines():
        match = RESULT.fullmatch(line)
        if match:
            found.setdefault(name(match[2]), []).append(match[1])
    return {key: sorted(values) for key, values in found.items()}


def name(said: str) -> str:
    for pattern, instead in VARIES:
        said = pattern.sub(instead, said)
    return REMARK.sub("", said)


def started_gdbs(log: str, suite: Suite) -> tuple[int, int]:
    lines = [line for line in SPAWNED.findall(log) if f" {suite.gdb} " in line and not line.endswith("--version")]
    return len(lines), sum(str(suite.extension) in line for line in lines)


def timeouts(log: str) -> int:
    return log.count("(timeout)\n")


def clear(output: Path, house: Path) -> None:
    """Of a run the two texts stay: all files of the suite make gigabytes."""
    shutil.rmtree(house, ignore_errors=True)
    for path in output.iterdir():
        if path.name not in ("gdb.sum", "gdb.log"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
