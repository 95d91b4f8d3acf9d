"""Which process, thread and call of one run is which of the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Optional, Protocol, TypeVar

HALF = 64
WINDOW = 2 * HALF  # calls in which it is looked for where two threads go on alike


class Profiled(Protocol):
    def profile(self) -> Counter[str]: ...


T = TypeVar("T", bound=Profiled)
Pair = tuple[Optional[int], Optional[int]]


def partners(ours: Sequence[T], theirs: Sequence[T]) -> Iterator[tuple[T | None, T | None]]:
    """Those that have made the same calls, then the others, each in their order. None where one has no partner."""
    waiting: dict[frozenset[tuple[str, int]], list[T]] = {}
    for one in theirs:
        waiting.setdefault(frozenset(one.profile().items()), []).append(one)
    left: list[T] = []
    for one in ours:
        same = waiting.get(frozenset(one.profile().items()))
        if same:
            yield one, same.pop(0)
        else:
            left.append(one)
    rest = {id(one) for some in waiting.values() for one in some}
    yield from zip_longest(left, [one for one in theirs if id(one) in rest])


def aligned(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[Pair]:
    """The places of calls that are each other's; those of one alone with None."""
    first = second = 0
    while first < len(ours) and second < len(theirs):
        if ours[first] == theirs[second]:
            yield first, second
            first, second = first + 1, second + 1
            continue
        for is_here, is_there in steps(ours[first : first + WINDOW], theirs[second : second + WINDOW]):
            yield (first if is_here else None), (second if is_there else None)
            first, second = first + is_here, second + is_there
    yield from ((at, None) for at in range(first, len(ours)))
    yield from ((None, at) for at in range(second, len(theirs)))


def steps(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[bool, bool]]:
    """Whether the next call is here, there, or in both, so that fewest are in one alone. Up to half of these calls:
    what is best for the others depends on those behind them."""
    alone = fewest_alone(ours, theirs)
    first = second = 0
    while max(first, second) < HALF and (first < len(ours) or second < len(theirs)):
        is_both = first < len(ours) and second < len(theirs) and ours[first] == theirs[second]
        is_here = is_both or second == len(theirs) or (
            first < len(ours) and alone[first + 1][second] <= alone[first][second + 1])  # fmt: skip
        is_there = is_both or not is_here
        yield is_here, is_there
        first, second = first + is_here, second + is_there


def fewest_alone(ours: Sequence[str], theirs: Sequence[str]) -> list[list[int]]:
    """At [i][j] how many calls from there on are in one alone, up to where one of the windows is full."""
    rows, columns = len(ours), len(theirs)
    found = [[0] * (columns + 1) for _ in range(rows + 1)]
    if rows < WINDOW:
        found[rows] = [columns - j for j in range(columns + 1)]
    if columns < WINDOW:
        for i in range(rows):
            found[i][columns] = rows - i
    for i in range(rows - 1, -1, -1):
        below, row, name = found[i + 1], found[i], ours[i]
        for j in range(columns - 1, -1, -1):
            row[j] = below[j + 1] if name == theirs[j] else 1 + min(below[j], row[j + 1])
    return found


def reordered(ours: Sequence[str], theirs: Sequence[str], pairs: Sequence[Pair]) -> list[tuple[int, int]]:
    """Calls that are missing here and added there: the same, in another order."""
    added: dict[str, list[int]] = {}
    for first, second in pairs:
        if first is None and second is not None:
            added.setdefault(theirs[second], []).append(second)
    found: list[tuple[int, int]] = []
    for first, second in pairs:
        if first is not None and second is None and added.get(ours[first]):
            found.append((first, added[ours[first]].pop(0)))
    return found
