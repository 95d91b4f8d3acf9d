"""What a run says in which the driver refuses a call: the program's calls, each with what it asked of the driver.

(shim/contract/failing/run.c, and the lines of the stand-in: shim/standin/common/answering.c.)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gdbcuda.contract.books import numbers
from gdbcuda.contract.books.numbers import Said

MADE = re.compile(r"made (\w+) (-?\d+) (\d+)$")
REACHED = re.compile(r"(\w+)(?: [0-9a-f:]+)*(?: \*(\d+))?$")


class DriverReached(NamedTuple):
    """``thread``: of a call that was refused, else 0."""

    symbol: str
    thread: int = 0

    @property
    def is_refused(self) -> bool:
        return bool(self.thread)


class ProgramCall(NamedTuple):
    """``said`` by a function that tells how much memory there is, if it has succeeded; ``reached`` by any thread."""

    name: str
    result: int
    thread: int
    reached: tuple[DriverReached, ...]
    said: Said | None = None

    @property
    def is_refused(self) -> bool:
        """In it the driver has refused a call."""
        return any(one.is_refused for one in self.reached)


def calls(output: str, known: Iterable[str]) -> Iterator[ProgramCall]:
    """``known``: the names of API functions; any other line is what the program or the hook library writes."""
    names = frozenset(known)
    reached: list[DriverReached] = []
    thread = 0
    for line in output.splitlines():
        made, saying, one = MADE.match(line), numbers.SAID.match(line), REACHED.match(line)
        if made or saying:
            thread = int(made[3]) if made else thread
            yield ended(made, saying, thread, tuple(reached))
            reached = []
        elif one and one[1] in names:
            reached.append(DriverReached(one[1], int(one[2] or 0)))


def ended(
    made: re.Match[str] | None, saying: re.Match[str] | None, thread: int, reached: tuple[DriverReached, ...]
) -> ProgramCall:
    if made:
        return ProgramCall(made[1], int(made[2]), thread, reached)
    assert saying is not None
    words = saying[3].split()
    said = Said(**dict(zip(words[::2], map(int, words[1::2])))) if int(saying[2]) == 0 else None
    return ProgramCall(saying[1], int(saying[2]), thread, reached, said)


def positions(made: Iterable[ProgramCall]) -> list[tuple[str, int]]:
    """Of each call that has reached the driver: its name, and the how manieth of that name it is."""
    seen: Counter[str] = Counter()
    found = []
    for call in made:
        for one in call.reached:
            seen[one.symbol] += 1
            found.append((one.symbol, seen[one.symbol]))
    return found
