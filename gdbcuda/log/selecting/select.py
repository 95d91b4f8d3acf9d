"""Which calls of a log somebody wants to see."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gdbcuda import api
from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.errors import UserError
from gdbcuda.log.selecting import where as conditions  # loaded when the first is asked (live/host/lazily.py)
from gdbcuda.log.selecting.wanted_places import WantedPlaces

if TYPE_CHECKING:
    from gdbcuda.log.options import FilterOptions

MOST_HELD = 100_000
T = TypeVar("T")


class CallFilter(NamedTuple):
    """Empty fields take everything. ``functions`` are symbols, base names or globs.

    ``where`` is asked last, and about calls alone that all the rest takes: it may count them."""

    functions: tuple[str, ...] = ()
    places: WantedPlaces | None = None
    thread: int | None = None
    only_failed: bool = False
    where: conditions.Where | None = None

    @classmethod
    def of(cls, wanted: FilterOptions) -> CallFilter:
        return cls(tuple(wanted.function), places_of(wanted.places), wanted.thread, wanted.failed)

    def takes(self, call: Call) -> bool:
        if self.thread is not None and call.thread != self.thread:
            return False
        if self.only_failed and not call.went_wrong:
            return False
        if self.places is not None and not self.places.take(call):
            return False
        return self.takes_function(call) and (self.where is None or self.where.holds(call))

    def takes_function(self, call: Call) -> bool:
        return not self.functions or any(
            name in (call.name, call.base) or fnmatchcase(call.name, name) for name in self.functions
        )

    def refuse_unknown(self, table: api.Table) -> None:
        """`UserError` for what is no function of the API: "if" may be missing, or a letter."""
        for name in self.functions:
            if not table.find(name):
                near = table.nearest(name, 1)
                raise UserError(f"no function {name!r}" + (f"; did you mean {near[0]}?" if near else ""))

    def with_condition(self, text: str | None, table: api.Table, notes: References) -> CallFilter:
        """``if text``; `UserError` where it makes no sense for the functions."""
        if not text:
            return self
        named = [found for found in map(table.find, self.functions) if found]
        return self._replace(where=conditions.Where(text, table, notes, named))

    def remark(self) -> str:
        return "\n".join(one.remark() for one in (self.places, self.where) if one is not None and one.remark())


def places_of(words: Sequence[str]) -> WantedPlaces | None:
    return WantedPlaces(words) if words else None


def within(
    events: Iterable[Event], places: WantedPlaces | None, functions: Sequence[str] = ()
) -> Iterator[Event]:
    """A log as one layer or library has seen it, or as if some functions alone were there: calls whose caller is left
    out are its outermost."""
    if places is None and not functions:
        yield from events
        return
    chosen, open_calls = CallFilter(tuple(functions), places), set()
    for phase, call in events:
        if not chosen.takes(call):
            continue
        if phase == BEGIN:
            call.parent = call.parent if call.parent in open_calls else None
            open_calls.add(call.number)
        else:
            open_calls.discard(call.number)
        yield phase, call


def by_beginning(events: Iterable[Event], most: int = MOST_HELD) -> Iterator[Call]:
    """Every call, once it is over and all that began before it are; of more than ``most`` calls that wait for a long
    one, those that are over go ahead of it."""
    held: OrderedDict[int, Call] = OrderedDict()
    over: set[int] = set()
    for phase, call in events:
        if phase == BEGIN:
            held.pop(call.number, None)  # a broken log begins a call twice
            held[call.number] = call
            continue
        over.add(call.number)
        if len(held) > most:
            yield from [held.pop(number) for number in list(held) if number in over]
            over.clear()
        while held and next(iter(held)) in over:
            number, first = held.popitem(last=False)
            over.discard(number)
            yield first
    yield from (call for number, call in held.items() if number in over)


def last(rows: Sequence[T], count: int) -> Sequence[T]:
    """The last ``count``; 0 takes all."""
    return rows[-count:] if count else rows
