"""Which guards there should be, and when they are made what they should be.

A guard is made where gdb can make breakpoints and it is known where the threads are: in commands, when the program
goes on, at a stop, and in the ``stop`` of a breakpoint of ours on the loader (`load_events`), which gdb asks after it
has set its own breakpoints again. Not in the events about breakpoints: gdb 14 aborts when one is made while it walks
its list of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import gdb

from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours, own_condition
from gdbcuda.live.breakpoints.locations import are_places_known, places
from gdbcuda.live.breakpoints.ours import WantedGuards
from gdbcuda.live.guarding.by_process import (
    PROCESSES,
    Guarded,
    look_again,
    members_by_function,
    refuse,
    roomless,
    waiting,
    wanted,
    wanted_by,
)
from gdbcuda.live.guarding.making import GUARDS, remove, settle
from gdbcuda.live.guarding.refusals import NOT_EVERYWHERE, strangers
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.patching import detours, trampoline_space
from gdbcuda.live.placing import inserted
from gdbcuda.live.prompt import settings

SWITCHED_OFF = "guards are off ('set cuda-guard auto' switches them on)"


def renew(numbers: Iterable[int] = ()) -> None:
    """Makes the guards of these breakpoints, and of those that have changed, what they should be now."""
    state = PROCESSES()
    undo_inherited(state)
    due = take_due(state, set(numbers))
    reason = "detaching" if state.is_leaving else SWITCHED_OFF if settings.value("cuda-guard") == "off" else ""
    if not due or (reason == SWITCHED_OFF and not state.guards):
        refuse(due, reason)
        return
    reason = reason or detours.is_possible()
    if not reason and not are_places_known():
        for one in due.values():
            one.is_waiting = True
        gdb_cli.when_possible(renew_waiting)
        return
    functions, others = find_stops(due, reason), strangers()
    members = members_by_function()
    for function in functions if reason else ():  # it holds for their other breakpoints, too
        look_again(members.pop(function, {}))
    refuse({number for function in functions for number in members.get(function, ())}, "")
    for function in sorted(functions):
        settle(function, members.get(function, {}), others)
    all_or_none(state)
    release_unneeded()


def take_due(state: Guarded, numbers: set[int]) -> dict[int, WantedGuards]:
    """These, and what is to be looked at at once."""
    due = {
        number: one
        for number, one in wanted().items()
        if one.is_stale or number in numbers or not state.touched.isdisjoint(one.stops)
    }
    state.touched.clear()
    for one in due.values():
        one.is_stale = False
    return due


def find_stops(due: dict[int, WantedGuards], reason: str) -> set[int]:
    """Where these breakpoints want guards now; returns the functions where they do, or did."""
    functions = {function for one in due.values() for function in one.stops}
    for one in due.values():
        one.stops, one.is_waiting, one.is_roomless = {}, False, False
    for breakpoint in gdb.breakpoints():
        if breakpoint.number in due:
            for stop in stops_of(breakpoint, reason):
                due[breakpoint.number].stops[process.function_start(stop) or stop] = stop
    return functions.union(*(one.stops for one in due.values()))


def release_unneeded() -> None:
    """Without guards ``breakpoint always-inserted`` is the user's again."""
    if not any(state.guards for state in PROCESSES.all()):
        inserted.release(GUARDS)


def undo_inherited(state: Guarded) -> None:
    while state.inherited:
        state.inherited.pop().undo_in_fork()


def renew_waiting() -> None:
    if process.is_alive() and not process.is_running():
        renew(waiting())


def refresh() -> None:
    """The same in a command, where the program may be made to map pages."""
    state = PROCESSES()
    state.is_full = ""
    with trampoline_space.may_call():
        renew(roomless())


def stops_of(breakpoint: gdb.Breakpoint, reason: str) -> list[int]:
    """Addresses of the breakpoint's locations that are on, or would be without their guard; says why there are none."""
    number = breakpoint.number
    if reason:
        refuse([number], reason)
        return []
    found = places(breakpoint)
    if not found:
        refuse([number], "")  # pending, and gdb does not even tell its condition
    elif not breakpoint.enabled:
        refuse([number], "disabled")
    elif is_changed(breakpoint):
        refuse([number], "its condition was changed")
    else:
        switched_off = {one.stop for one in PROCESSES().guards_of(number) if one.is_lowered}
        return [address for address, on in found if address and (on or address in switched_off)]
    return []


def is_changed(breakpoint: gdb.Breakpoint) -> bool:
    """By the user, so that its condition is another one than its guard's."""
    filter = ours.filter_of(breakpoint.number)
    return filter is None or own_condition.of(breakpoint) != filter.native


def all_or_none(state: Guarded) -> None:
    """(`refusals.everywhere` has seen what can be known before one is made.)"""
    for number in [one.number for one in ours.filtered() if one.filter and one.filter.is_counting]:
        guards = state.guards_of(number)
        found = wanted_by(number)
        if 0 < len(guards) < len(found.stops):
            found.why = NOT_EVERYWHERE.format(found.why)
            for guard in guards:
                remove(guard)
