"""Children that died at a breakpoint that nobody took out of them: whose it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playing import Outcome
from sessions import Session

TRAPPED = re.compile(r"^# trapped (?P<pid>\d+) (?P<address>0x[0-9a-f]+) (?P<place>\S+): (?P<bytes>[0-9a-f ]+)$")
DIED = re.compile(r"^= [\w, ]+ \d+: signal 5$")
BEFORE, INT3 = 7, "cc"  # trapped.h shows so many bytes in front of it


@dataclass(frozen=True)
class Trap:
    address: int
    place: str
    byte: str

    def __str__(self) -> str:
        return f"{Path(self.place).name} ({self.byte})"


def traps(run: Outcome) -> list[Trap]:
    found = (TRAPPED.match(line) for line in run.out)
    return [Trap(int(one["address"], 16), one["place"], one["bytes"].split()[BEFORE]) for one in found if one]


def told(run: Outcome) -> str:
    """Where they were, for who reads the finding."""
    return "".join(f"; trapped at {one}" for one in traps(run)[:3])


def are_of_a_step(session: Session, run: Outcome, new: Sequence[str]) -> bool:
    """gdb puts breakpoints of its own at where a step has to stop again, and takes them out as that is over, also while
    a child waits of which it has not heard: that one keeps them. So each child that died did so at an int3 where no
    breakpoint has ever been but those."""
    found = traps(run)
    if not session.is_stepped or not run.places or len(found) < len(new) or not all(map(DIED.match, new)):
        return False
    return all(one.byte == INT3 and one.address not in run.places for one in found)
