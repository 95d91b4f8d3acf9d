"""Which calls of a log somebody wants to see."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

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
        if self.places and not any(place == call.layer or fnmatchcase(call.object, place) for place in self.places):
            return False
        return not self.functions or any(
            name in (call.name, call.base) or fnmatchcase(call.name, name) for name in self.functions
        )


def last(rows: Sequence[T], count: int) -> Sequence[T]:
    """The last ``count``; 0 takes all."""
    return rows[-count:] if count else rows
