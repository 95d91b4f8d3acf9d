"""The recorder's calls, as far as work of a GPU is joined to them: a trace has millions, of which these are held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gdbcuda.calls.record import Call
from gdbcuda.gpu.causing import names_work

UNNUMBERED = -1
POSITIONS = 0xFFFFFFFF  # of a position in a ring its cause has the lower half


class JoinedCall:
    """``outer``: the outermost call around it that makes work. ``inside``: how many that only CUPTI has seen are around
    it. ``number``: in the log, once it has begun there."""

    __slots__ = ("depth", "end", "inside", "lwp", "name", "number", "outer", "start")

    def __init__(self, call: Call, outer: JoinedCall | None = None) -> None:
        self.name, self.start, self.end, self.lwp, self.depth = call.name, call.start, call.end, call.lwp, call.depth
        self.outer, self.inside, self.number = outer, 0, UNNUMBERED

    @property
    def last_seen(self) -> float:
        return self.start if self.end is None else self.end

    @property
    def cause(self) -> JoinedCall:
        """That of the program: it asked for the work, and what is below it shows who took how long."""
        return self.outer or self


def place_of(thread: int, position: int) -> int:
    """As one number."""
    return thread << 32 | position & POSITIONS


def joined(calls: Iterable[tuple[int, Call]], is_every: bool = False) -> Iterator[tuple[int, JoinedCall]]:
    """Of a thread's calls as they begin, by their positions: those that make work, or every one."""
    under_way: list[tuple[Call, JoinedCall | None, JoinedCall | None]] = []
    for position, call in calls:
        left_behind(under_way, call.depth)
        outer = under_way[-1][2] if under_way else None
        is_work = names_work(call.name)
        found = JoinedCall(call, outer) if is_work or is_every else None
        under_way.append((call, found, outer or (found if is_work else None)))
        if found is not None:
            yield place_of(call.lwp, position), found
    left_behind(under_way, 0)


def left_behind(under_way: list[tuple[Call, JoinedCall | None, JoinedCall | None]], depth: int) -> None:
    """How a call has ended is known by the time that the next one comes."""
    while len(under_way) > depth:
        call, found, _ = under_way.pop()
        if found is not None:
            found.end = call.end
