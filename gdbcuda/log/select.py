"""Which calls of a log somebody wants to see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

from gdbcuda.log.reader import BEGIN, Event
from gdbcuda.log.record import Call

T = TypeVar("T")


class Filter(NamedTuple):
    """Empty fields take everything. ``functions`` are symbols, base names or globs, ``places`` layers or files."""

    functions: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    thread: int | None = None
    only_failed: bool = False

    def takes(self, call: Call) -> bool:
        if self.thread is not None and call.thread != self.thread:
            return False
        if self.only_failed and not (call.failed or call.ended):
            return False
        if not self.takes_place(call):
            return False
        return not self.functions or any(
            name in (call.name, call.base) or fnmatchcase(call.name, name) for name in self.functions
        )

    def takes_place(self, call: Call) -> bool:
        return not self.places or any(one == call.layer or fnmatchcase(call.object, one) for one in self.places)


def within(events: Iterable[Event], places: Sequence[str]) -> Iterator[Event]:
    """A log as one layer or library has seen it: calls that come from elsewhere are its outermost."""
    chosen, open_calls = Filter(places=tuple(places)), set()
    for phase, call in events:
        if not chosen.takes_place(call):
            continue
        if phase == BEGIN:
            call.parent = call.parent if call.parent in open_calls else None
            open_calls.add(call.number)
        else:
            open_calls.discard(call.number)
        yield phase, call


def last(rows: Sequence[T], count: int) -> Sequence[T]:
    """The last ``count``; 0 takes all."""
    return rows[-count:] if count else rows
