"""Begins and ends by time, where the stamps of several are equal."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.calls.record import Call
from gdbcuda.calls.sinks import as_it_happened, in_order


def made(number: int, start: float, end: float | None, parent: Call | None = None, lwp: int = 1) -> Call:
    call = Call(number, "cuInit", start)
    call.end, call.lwp = end, lwp
    if parent is not None:
        call.parent, call.depth = parent.number, parent.depth + 1
    return call


def order(*calls: Call) -> str:
    """A call is a letter: as it begins a small one, as it ends a capital one."""
    found = written(in_order(calls))
    if len({call.lwp for call in calls}) == 1:
        assert written(as_it_happened(sorted(calls, key=lambda call: (call.start, call.number)))) == found
    return found


def written(events: Iterable[tuple[bool, Call]]) -> str:
    return "".join("abcdef"[call.number].upper() if is_end else "abcdef"[call.number] for is_end, call in events)


def test_one_behind_another() -> None:
    """A block that is freed in the nanosecond in which it was allocated is allocated first."""
    assert order(made(0, 1, 2), made(1, 2, 3), made(2, 3, 3), made(3, 3, 4)) == "aAbBcCdD"
    assert order(made(0, 1, 1), made(1, 1, 1), made(2, 1, None)) == "aAbBc"


def test_one_within_another() -> None:
    outer = made(0, 1, 4)
    assert order(outer, made(1, 1, 4, outer)) == "abBA"
    assert order(outer, made(1, 1, 1, outer), made(2, 4, 4, outer)) == "abBcCA"
    outer = made(0, 1, 1)
    inner = made(1, 1, 1, outer)
    assert order(outer, inner, made(2, 1, 1, inner), made(3, 1, 1, outer), made(4, 1, 2)) == "abcCBdDAeE"


def test_those_around_one_that_begins_as_they_end() -> None:
    outer = made(0, 1, 4)
    inner = made(1, 2, 4, outer)
    assert order(outer, inner, made(2, 4, 4, inner), made(3, 4, 5)) == "abcCBAdD"


def test_of_several_threads() -> None:
    """Each one's own order is kept."""
    found = order(made(0, 1, 2), made(1, 1, 2, lwp=2), made(2, 2, 2), made(3, 2, 2, lwp=2))
    assert "".join(c for c in found if c in "aAcC") == "aAcC" and "".join(c for c in found if c in "bBdD") == "bBdD"
