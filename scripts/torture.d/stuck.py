"""Whether a run that came to no end is slow or stuck, and where it stands: stacks of gdb (by another gdb), and what the
kernel says of each thread."""

from __future__ import annotations

import os
import subprocess
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Callable

SECONDS = 60
MOST_LOAD = 8
STILL = 10  # seconds in which nothing happens at all: it is stuck
LAST_PART = 20  # seconds of a run that takes too long, which tell whether it is slow or stuck


class Patience:
    """How long a run may take: longer where others have the processors too, when it begins or later."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.began, self.load = seconds, time.monotonic(), 1.0

    def is_over(self) -> bool:
        self.load = max(self.load, min(os.getloadavg()[0] / (os.cpu_count() or 1), MOST_LOAD))
        return time.monotonic() - self.began > self.seconds * self.load


class Progress:
    """Whether anything happens at all: processor time of these processes, and sizes of these files. ``looks``: what was
    seen in the last part, each with its time, ticks and bytes."""

    def __init__(self) -> None:
        self.last, self.since, self.asked = "", time.monotonic(), 0.0
        self.is_still = False
        self.looks: deque[tuple[float, int, int]] = deque()

    def stands(self, pids: Callable[[], list[int]], files: Iterable[Path]) -> bool:
        now = time.monotonic()
        if now - self.asked > 1:
            sizes = [path.stat().st_size if path.exists() else 0 for path in files]
            found = [ticks(pid) for pid in pids()]
            state = f"{found} {sizes}"
            self.asked = now
            if state != self.last or " R " in state:  # on a busy machine one may wait for its turn
                self.last, self.since = state, now
            self.looks.append((now, sum(map(sum_of, found)), sum(sizes)))
            while now - self.looks[0][0] > LAST_PART:
                self.looks.popleft()
        self.is_still = now - self.since > STILL
        return self.is_still

    @property
    def is_slow(self) -> bool:
        """It has said something in the last part, and worked for it: it would come to its end."""
        return not self.is_still and self.grown("ticks") > 0 and self.grown("bytes") > 0

    def grown(self, what: str) -> int:
        which = ("time", "ticks", "bytes").index(what)
        return int(self.looks[-1][which] - self.looks[0][which]) if self.looks else 0

    def last_part(self) -> str:
        return f"in the last {self.grown('time')} s {self.grown('ticks')} ticks, {self.grown('bytes')} bytes"


def sum_of(said: str) -> int:
    """The ticks of what `ticks` has said."""
    return sum(map(int, said.split()[2:]))


def ticks(pid: int) -> str:
    """State, and the processor time of all its threads, living or dead."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "gone"
    return f"{pid} {words[0]} {words[11]} {words[12]}"


def stacks(gdb: int, program: int, folder: Path) -> str:
    """Written to a file of the folder; the answer is one line."""
    parts = [f"gdb {gdb}:", *threads(gdb), f"program {program}:", *threads(program), "", backtrace(gdb)]
    (folder / "stuck").write_text("\n".join(parts) + "\n")
    return f"gdb {state(gdb)}, program {state(program) if program else 'not started'}"


def backtrace(pid: int) -> str:
    line = ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "set pagination off", "-ex", "thread apply all bt 40"]
    environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    try:
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False,
                              stdin=subprocess.DEVNULL, env=environment)  # fmt: skip
    except (subprocess.TimeoutExpired, OSError) as problem:
        return f"no stacks: {problem}"
    return done.stdout


def threads(pid: int) -> list[str]:
    try:
        names = sorted(os.listdir(f"/proc/{pid}/task"), key=int)
    except OSError:
        return ["  is not there"]
    return [
        f"  {one} {state(int(one))} in {proc_text(pid, one, 'wchan')}, call {proc_text(pid, one, 'syscall')}"
        for one in names
    ]


def proc_text(pid: int, thread: str, what: str) -> str:
    try:
        return Path(f"/proc/{pid}/task/{thread}/{what}").read_text().strip()
    except OSError:
        return "?"


def state(pid: int) -> str:
    """Name, state and processor ticks."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "gone"
    name, words = text.partition("(")[2].rpartition(")")[0], text.rpartition(")")[2].split()
    return f"{name} {words[0]} ({int(words[11]) + int(words[12])} ticks)"
