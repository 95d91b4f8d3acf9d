"""How two runs of a program have ended, and what they have written."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from gdbcuda.compare.findings import OUTPUTS, Findings
from gdbcuda.data_classes import dataclass
from gdbcuda.text.printable import visible

MOST_LINES = 20_000  # of an output that are compared
MOST_CHANGES = 20  # of an output, that are told one by one
LONGEST = 100
# What is another in each run: addresses, durations, shares of them, dates and times of day.
NUMBER = r"\d+(?:[.,]\d+)*"
UNSTEADY = (
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "0x…"),
    (re.compile(r"\b1(?:3[6-9]|40)\d{12}\b"), "0x…"),  # 0x7c… to 0x7f… in decimal, as pthread_self() is printed
    (re.compile(rf"\b{NUMBER}(?:e[-+]?\d+)? ?(ns|us|µs|ms|s|sec|seconds?|minutes?|Hz|it/s)\b"), r"… \1"),
    (re.compile(rf"\b{NUMBER} ?([KMGT]i?B/s)"), r"… \1"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "…"),
    (re.compile(r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b"), "…"),
)


@dataclass(frozen=True)
class Outcome:
    """``status`` as a shell counts it: 128 and the signal where that has ended the program. ``late``: seconds after
    which it was ended by us, 0 where it ended itself. ``pids``: of its processes."""

    status: int
    stdout: str
    stderr: str
    seconds: float
    late: float = 0.0
    memory: int = 0  # bytes of the host's that it had at most
    pids: frozenset[int] = frozenset()

    @property
    def ending(self) -> str:
        if self.late:
            return f"not over after {self.late:.0f} s"
        if self.status > 128 and self.status - 128 in {*signal.Signals}:
            return signal.Signals(self.status - 128).name
        return str(self.status)


def compare(ours: Outcome, theirs: Outcome, findings: Findings) -> None:
    if ours.ending != theirs.ending:
        kept = (ours.ending if not ours.late else "not over"), (theirs.ending if not theirs.late else "not over")
        late = f"{ours.ending}; {theirs.ending}" if ours.late or theirs.late else ""
        findings.add("exit status", "exit status", kept, lambda: late)
    for name in OUTPUTS:
        mine, yours = (steady_lines(getattr(one, name), one.pids) for one in (ours, theirs))
        changes = list(changed_lines(mine, yours))
        if len(changes) > MOST_CHANGES:
            findings.add(f"{name} differs in more than {MOST_CHANGES} lines", name, example=lambda: changes[0])  # noqa: B023
            continue
        for change in changes:
            findings.add(f"{name} {change}", name)


def steady_lines(text: str, pids: frozenset[int]) -> list[str]:
    own = re.compile(rf"\b({'|'.join(map(str, pids))})\b") if pids else None
    lines = text.splitlines()[:MOST_LINES]
    return [steady_line(own.sub("(pid)", line) if own else line) for line in lines]


def steady_line(line: str) -> str:
    for what, instead in UNSTEADY:
        line = what.sub(instead, line)
    shown = visible(line.rstrip())
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def changed_lines(mine: Sequence[str], yours: Sequence[str]) -> Iterator[str]:
    """Threads write in any order: lines that are the same in another place are no change."""
    for tag, first, last, start, end in SequenceMatcher(None, mine, yours, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        here, there = without(mine[first:last], yours), without(yours[start:end], mine)
        both = min(len(here), len(there))
        yield from (f"line: {one} -> {other}" for one, other in zip(here, there))
        yield from (f"line missing: {one}" for one in here[both:])
        yield from (f"line added: {one}" for one in there[both:])


def without(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    known = set(others)
    return [line for line in lines if line not in known]
