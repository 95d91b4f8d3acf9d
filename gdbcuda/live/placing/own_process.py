"""Breakpoints at bare addresses, which mean something in one process only.

gdb takes an address for one of every program: when another inferior loads its objects, the breakpoint gets a location
there too, in the middle of other code, or where nothing is mapped, and then that inferior cannot run. Such locations
are switched off here as soon as gdb has made them, before it writes them into the process. gdb keeps that by the name
of the function: with the other program's symbols gone, at its exec, it takes our own location for the one switched off.
(gdb manual: "Inferiors Connections and Programs", "Breakpoints In Python".)
"""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Callable, TypeVar

import gdb

from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import held_places, letting_go, silence, unloading
from gdbcuda.live.prompt import safely
from gdbcuda.live.threads import children, killed, lent_registers

# gdb 10 to 12 cannot switch locations of internal breakpoints: there one process at a time is watched
CAN_CONFINE = hasattr(gdb, "BreakpointLocation")

ENTRIES: PerInferior[set[int]] = PerInferior(set)  # addresses at which somebody of ours looks at each call
ON_ENTRY: list[Callable[[int, bool], None]] = []
At = TypeVar("At", bound="Internal")
_placed: dict[int, unloading.Placed] = {}  # by number: the one table of them


def confine(made: gdb.Breakpoint, address: int) -> None:
    """The breakpoint is of the selected inferior alone, and of the object that the address is in. (gdb 16 then makes no
    other locations, and it crashes now and then where one is switched in the middle of an exec; gdb 15 knows the
    attribute, but makes them all the same. They refuse it where a thread is named, which is of one process already.)"""
    owner = gdb.selected_inferior().num
    silence.wake(address)
    letting_go.watch()
    killed.watch()
    _placed[made.number] = unloading.Placed(made, address, owner)
    if hasattr(made, "inferior") and made.thread is None:
        made.inferior = owner
    unloading.keep(_placed[made.number])


def addresses() -> set[int]:
    """Where breakpoints of ours are that are confined to a process, whichever."""
    return {one.address for one in _placed.values()}


def is_one_on(among: range) -> bool:
    """Whoever has made it, and if he wants it no more: gdb has it in the selected process, or may put it there."""
    owner = gdb.selected_inferior().num
    near = [one for one in _placed.values() if one.address in among and one.inferior == owner]
    return any(one.breakpoint.is_valid() and one.breakpoint.enabled for one in near)


def placed_in(number: int) -> list[unloading.Placed]:
    """The same of the process of that inferior."""
    return [one for one in _placed.values() if one.inferior == number]


def leave(number: int) -> None:
    """The process of that inferior is over, or has become another program: what nobody has taken back until now is at
    addresses that mean nothing any more."""
    for one in placed_in(number):
        unloading.put_away(one.breakpoint)


def free(number: int) -> None:
    """What waits to be deleted belongs to no inferior any more. (gdb 16 deletes the user's breakpoints with theirs, but
    none of ours, and ends by an assertion when it goes over one whose inferior has been removed.)"""
    for one in placed_in(number):
        if one.breakpoint.is_valid() and getattr(one.breakpoint, "inferior", None) is not None:
            with suppress(gdb.error):
                one.breakpoint.inferior = None


def is_new(breakpoint: gdb.Breakpoint) -> bool:
    """Nothing has run since it is in gdb's table: no thread has been there."""
    placed = _placed.get(breakpoint.number)
    return placed is not None and placed.since == children.still()


class Internal(gdb.Breakpoint):
    """At an address of the selected process; no list shows it. What inherits has a ``stop`` that looks on."""

    sees_all_calls = True  # it is at a function's first instruction, and wants to hear of each call

    def __init__(self, address: int) -> None:
        if self.sees_all_calls:
            ENTRIES().add(address)
            for tell in ON_ENTRY:
                tell(address, True)
        self.address = address
        super().__init__(f"*{address:#x}", internal=True)
        confine(self, address)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "stop" in vars(cls):
            # types know no class that changes its own method while it is made
            cls.stop = safely.looking_on(arriving(cls.stop))  # type: ignore[method-assign, assignment, arg-type]


def arriving(stop: Callable[[At], bool]) -> Callable[[At], bool]:
    @functools.wraps(stop)
    def arrived(one: At) -> bool:
        with suppress(gdb.error):
            lent_registers.arrived(one.address)
        return stop(one)

    return arrived


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    placed = _placed.get(breakpoint.number)
    if placed is not None and breakpoint.enabled != (placed.since is not None):
        since, placed.since = placed.since, children.still() if breakpoint.enabled else None
        if since is not None:
            children.take_out(placed.address, since)
    if placed is not None and breakpoint.enabled:
        silence.wake(placed.address)
    elif placed is not None:
        silence.forget(placed.address, placed.inferior)
    if placed is not None and CAN_CONFINE and any(is_wrong(placed, one) for one in breakpoint.locations):
        held_places.when_possible(breakpoint, switch_places)


def is_wrong(placed: unloading.Placed, place: gdb.BreakpointLocation) -> bool:
    """It is another process's and on, or ours and off. (Without others that is the user's wish.)"""
    mine = placed.inferior in (place.thread_groups or [placed.inferior])
    return place.enabled != mine and (place.enabled or placed.has_others)


def switch_places(breakpoint: gdb.Breakpoint) -> None:
    placed = _placed[breakpoint.number]
    for place in breakpoint.locations:
        if is_wrong(placed, place):
            placed.has_others = True
            place.enabled = not place.enabled


def on_deleted(breakpoint: gdb.Breakpoint) -> None:
    gone = _placed.pop(breakpoint.number, None)
    if gone is not None:
        silence.forget(gone.address, gone.inferior)
    if gone is not None and (gone.since is not None or not process.is_remote()):
        children.take_out(gone.address, -1 if gone.since is None else gone.since)
    if isinstance(breakpoint, Internal) and breakpoint.sees_all_calls:
        ENTRIES().discard(breakpoint.address)
        for tell in ON_ENTRY:
            tell(breakpoint.address, False)
    if gone is not None:
        gone.beside.discard(gone)
