"""Which case is next: of the group that has had the least time. If the time is up, each had its share.

Cases of one group take a hundred times as long as those of another, and may be a hundred times as many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from gdbcuda.contract.patience import MOST_HANGS
from gdbcuda.contract.registry import Case
from gdbcuda.data_classes import dataclass

RARELY = 20  # of so many cases one that hangs


class Turn(NamedTuple):
    """``groups``: so many have cases left."""

    case: Case
    groups: int
    began: float


@dataclass
class GroupTime:
    spent: float = 0.0
    played: int = 0
    hangs: int = 0  # of those that were played


class Turns:
    """``by_group``: the cases of each, in order. Each turn is said to have `ended`; several may be at once."""

    def __init__(self, by_group: Mapping[str, Iterable[Case]], clock: Callable[[], float] = time.monotonic) -> None:
        self.waiting = {name: iter(cases) for name, cases in by_group.items()}
        self.times = {name: GroupTime() for name in by_group}
        self.running: list[Turn] = []
        self.clock = clock

    def next(self) -> Turn | None:
        """None where all have had theirs, or have it."""
        while self.waiting:
            name = min(self.waiting, key=self.spent)
            case = next(self.waiting[name], None)
            if case is not None:
                turn = Turn(case, len(self.waiting), self.clock())
                self.running.append(turn)
                return turn
            del self.waiting[name]
        return None

    def spent(self, group: str) -> float:
        now = self.clock()
        return self.times[group].spent + sum(now - one.began for one in self.running if one.case.group == group)

    def ended(self, turn: Turn, is_hung: bool = False) -> None:
        self.running.remove(turn)
        group = self.times[turn.case.group]
        group.spent += self.clock() - turn.began
        group.played += 1
        group.hangs += is_hung

    def is_given_up(self, group: str) -> bool:
        """The others would hang as well, each for its whole time."""
        times = self.times[group]
        return times.hangs >= MOST_HANGS and times.hangs * RARELY > times.played
