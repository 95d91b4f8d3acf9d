"""Makes guards and takes them back: one function, one guard for all breakpoints on it.

A guard is made where gdb can make breakpoints and it is known where the threads are: in commands, when the program
goes on, at a stop, and in the ``stop`` of a breakpoint of ours on the loader (`guard_loading`), which gdb asks after it
has set its own breakpoints again. Not in the events about breakpoints: gdb 14 aborts when one is made while it walks
its list of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.locations import are_places_known, places
from gdbcuda.live.breakpoints.ours import WantedGuards
from gdbcuda.live.guard import forks, libc_calls
from gdbcuda.live.guard.guard import Guard
from gdbcuda.live.guard.native import NativeGuard
from gdbcuda.live.guard.remote import RemoteGuard
from gdbcuda.live.guarding import condition_needs, filters, gdb_threads, seccomp
from gdbcuda.live.guarding.by_process import (
    PROCESSES,
    Guarded,
    keep_counts,
    look_again,
    members_by_function,
    wanted,
    wanted_by,
)
from gdbcuda.live.guarding.refusals import NOT_EVERYWHERE, NotNow, OfOne, counting_ones, everywhere, strangers
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.patching import detours, trampoline_space
from gdbcuda.live.placing import inserted
from gdbcuda.live.prompt import settings
from gdbcuda.live.stopping import counting
from gdbcuda.live.threads import children, standstill
from gdbcuda.machine import trampoline
from gdbcuda.machine.detour import Detour, NoDetour

GUARDS = "guards"  # who wants breakpoints to stay in the process
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


def refuse(numbers: Iterable[int], why: str, is_for_now: bool = False, is_roomless: bool = False) -> None:
    for one in map(wanted_by, numbers):
        one.why = why
        one.is_waiting |= is_for_now
        one.is_roomless |= is_roomless


def release_unneeded() -> None:
    """Without guards ``breakpoint always-inserted`` is the user's again."""
    if not any(state.guards for state in PROCESSES.all()):
        inserted.release(GUARDS)


def undo_inherited(state: Guarded) -> None:
    while state.inherited:
        state.inherited.pop().undo_in_fork()


def waiting() -> list[int]:
    return [number for number, one in wanted().items() if one.is_waiting]


def renew_waiting() -> None:
    if process.is_alive() and not process.is_running():
        renew(waiting())


def refresh() -> None:
    """The same in a command, where the program may be made to map pages."""
    state = PROCESSES()
    state.is_full = ""
    with trampoline_space.may_call():
        renew(roomless())


def roomless() -> list[int]:
    return [number for number, one in wanted().items() if one.is_roomless]


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
    return filter is None or (breakpoint.condition or "") != filter.native


def settle(function: int, members: dict[int, int], others: list[gdb.Breakpoint]) -> None:
    """One function: the guard for all breakpoints on it, or none."""
    old = PROCESSES().guards.get(function)
    if old is not None and set(old.members) == set(members) and {old.stop} == set(members.values()):
        return
    if old is not None:
        remove(old)
    if not members:
        return
    try:
        install(function, members, others)
    except OfOne as problem:
        refuse(members, problem.for_others, problem.is_for_now)
        refuse([problem.number], str(problem))
    except (NoDetour, UserError) as problem:
        is_roomless = isinstance(problem, trampoline_space.NoTrampolineSpace)
        refuse(members, str(problem), isinstance(problem, NotNow), is_roomless)


def all_or_none(state: Guarded) -> None:
    """(`guard_refusals.everywhere` has seen what can be known before one is made.)"""
    for number in [one.number for one in ours.filtered() if one.filter and one.filter.is_counting]:
        guards = state.guards_of(number)
        found = wanted_by(number)
        if 0 < len(guards) < len(found.stops):
            found.why = NOT_EVERYWHERE.format(found.why)
            for guard in guards:
                remove(guard)


def install(function: int, members: dict[int, int], others: list[gdb.Breakpoint]) -> None:
    """Only the trampoline is written: the guard begins lifted, and the function is changed when it first rests."""
    state = PROCESSES()
    found, threads = everywhere(function, members, others)
    look_out(state, found, members)
    for number in counting_ones(members):
        condition_needs.counter(number)
    counter = state.calls.counter(function) if any(one.counts_calls for one in ours.filters(members)) else None
    is_counting = bool(counting_ones(members))
    made = written(state, found, [test_of(number) for number in members], counter, is_counting)
    guard = guard_of(function, found, members, made, is_counting)
    if counter is not None:
        state.calls.begin(guard, counter)
    for thread, where in threads.items():
        for pc, sp in where or ():
            guard.let_pass(thread, pc, sp)
    state.guards[function] = guard
    if state.is_stopped:
        guard.rest()
    else:
        guard.begin()


def look_out(state: Guarded, found: Detour, members: Iterable[int]) -> None:
    """For what the guard would not survive."""
    if any(one.asks_kernel for one in ours.filters(members)):
        state.look_out(seccomp.WAYS, on_confined)
        state.is_confined = False
    if any(one.counts_calls for one in ours.filters(members)):
        state.look_out(libc_calls.LAST, keep_counts)
    if standstill.stands_still() and (found.stops_inside or not children.can_be_found()):
        state.look_out(forks.WAYS, on_fork)


def on_confined() -> None:
    state = PROCESSES()
    state.is_confined = True
    for guard in list(state.guards.values()):
        if any(one.asks_kernel for one in ours.filters(guard.members)):
            look_again(guard.members)
            remove(guard)


def on_fork() -> None:
    state = PROCESSES()
    forks.remember()
    for guard in list(state.guards.values()):
        if guard.detour.stops_inside:
            refuse(guard.members, forks.REASON, is_for_now=True)
            remove(guard)


def are_forks_seen() -> bool:
    return on_fork in PROCESSES().lookouts


children.ARE_ANNOUNCED.append(are_forks_seen)


def written(
    state: Guarded, found: Detour, tests: list[trampoline.Test], counter: int | None, is_counting: bool
) -> trampoline.Trampoline:
    try:
        made = trampoline_space.place(found, tests, counter, found.stops_inside or is_counting)
    except trampoline_space.NoTrampolineSpace as problem:
        state.is_full = str(problem)
        raise
    try:
        detours.prepare_island(found, made)
    except NoDetour:
        trampoline_space.take_back(found.island, made)
        raise
    return made


def guard_of(
    function: int, found: Detour, members: dict[int, int], made: trampoline.Trampoline, is_counting: bool
) -> Guard:
    kind: type[Guard] = RemoteGuard if standstill.stands_still() else NativeGuard
    inserted.keep(GUARDS)
    stop = next(iter(members.values()))
    return kind(function, stop, tuple(members), found, made, is_counting)


def test_of(number: int) -> trampoline.Test:
    found = ours.filter_of(number)
    assert found is not None
    try:
        return filters.test_of(found)
    except NoDetour as reason:
        is_for_now = isinstance(reason, gdb_threads.NotYet)
        raise OfOne(number, str(reason), f"and has no guard: {reason}", is_for_now) from None


def remove(guard: Guard) -> None:
    state = PROCESSES()
    del state.guards[guard.function]
    state.is_full = ""
    state.calls.end(guard)
    for number in guard.members:
        if not state.guards_of(number):
            counting.take_back(number)
    guard.take_back(state.is_stopped)
    if state.is_stopped:
        clean()


def clean() -> None:
    with suppress(NoDetour):
        trampoline_space.clean()
