"""Makes guards and takes them back: one function, one guard for all breakpoints on it.

Which there should be, and when they may be made, `renewing` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.guard import forks, launches, libc_calls, own_clones
from gdbcuda.live.guard import guard_faults as faults_of
from gdbcuda.live.guard.far_guard import RemoteGuard
from gdbcuda.live.guard.guard import Guard
from gdbcuda.live.guard.native import NativeGuard
from gdbcuda.live.guard.watch import mending
from gdbcuda.live.guarding import own_syscalls, seccomp
from gdbcuda.live.guarding.by_process import (
    PROCESSES,
    Guarded,
    at_last_call,
    look_again,
    refuse,
    wanted_by,
)
from gdbcuda.live.guarding.filters import breakpoint_filters, condition_needs, failing_calls, gdb_threads
from gdbcuda.live.guarding.refusals import NotNow, OfOne, counting_ones, everywhere
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import detours, trampoline_space
from gdbcuda.live.placing import inserted
from gdbcuda.live.stopping import counting
from gdbcuda.live.threads import children, standstill
from gdbcuda.machine import trampoline
from gdbcuda.machine.detour import Detour, NoDetour
from gdbcuda.machine.x86.x86_syscalls import CLONING

GUARDS = "guards"  # who wants breakpoints to stay in the process
MISSES = """gdbcuda: the program makes a child that shares its memory (clone, CLONE_VM): gdb
  takes its breakpoints out of both, and misses calls until the next stop
"""
HAS_TOLD: PerInferior[list[bool]] = PerInferior(list)  # of such a child


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


def install(function: int, members: dict[int, int], others: list[gdb.Breakpoint]) -> None:
    """Only the trampoline is written: the guard begins lifted, and the function is changed when it first rests."""
    state = PROCESSES()
    found, threads = everywhere(function, members, others)
    look_out(state, found, members)
    for number in counting_ones(members):
        condition_needs.counter(number)
    counter = state.calls.counter(function) if any(one.counts_calls for one in ours.filters(members)) else None
    is_counting = bool(counting_ones(members))
    made = tested_code(state, found, members, counter, is_counting)
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
    if any(one.counts_calls or one.fault is not None for one in ours.filters(members)):
        state.look_out(libc_calls.LAST, at_last_call)
    if standstill.stands_still() and (found.stops_inside or not children.can_be_found()):
        state.look_out(forks.WAYS, on_fork)
    if (ways := forks.ways_of_sharing()) is forks.ALL_SHARING_WAYS:
        state.look_out(ways, on_sharing_that_is_told, rare=True)
    elif ways:
        state.look_out(ways, on_sharing)
        state.look_out(forks.SHARING_WAYS, tell_of_sharing)
    if state.lookouts and process.is_remote():
        state.look_out(forks.ALL_SHARING_WAYS, on_sharing_far_away, rare=True)
    if look_out_past_libc not in state.lookouts:
        look_out_past_libc()


def look_out_past_libc() -> None:
    """In objects that have come since, too."""
    ways = forks.ways_of_sharing()
    if not ways or process.catches_sigtrap():
        return
    notice = on_sharing_that_is_told if ways is forks.ALL_SHARING_WAYS else on_sharing
    known = PROCESSES().lookouts.setdefault(look_out_past_libc, [])
    watched = {one.address for one in known if one.is_valid()}
    places = {at for one in own_syscalls.objects(CLONING) for at in one.instructions}
    known += [own_clones.OwnClone(one, (ways["syscall"], notice)) for one in own_clones.of_instructions(places)
              if one.front not in watched]  # fmt: skip


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


def on_sharing_far_away() -> None:
    """From then on nobody sees the program confine itself."""
    launches.leave_to_launches()
    on_confined()


def on_sharing() -> None:
    if len(inferiors.threads()) > 1:
        give_way_to_child()


def give_way_to_child() -> None:
    """gdb is to find one byte of its own in each instruction, also where it has put all of a guard's back since."""
    forks.remember()
    for mend in mending:
        mend()
    for guard in list(PROCESSES().guards.values()):
        refuse(guard.members, forks.REASON, is_for_now=True)
        remove(guard)


def on_sharing_that_is_told() -> None:
    """(The child itself runs beside the program's only thread.)"""
    give_way_to_child()
    tell_of_sharing()


def tell_of_sharing() -> None:
    """gdb says nothing of it, and shows its breakpoints as if they were there."""
    if not HAS_TOLD():
        HAS_TOLD().append(True)
        console.write(MISSES)


def are_forks_seen() -> bool:
    return any(one.is_valid() and one.enabled for one in PROCESSES().lookouts.get(on_fork, ()))


children.ARE_ANNOUNCED.append(are_forks_seen)


def tested_code(
    state: Guarded, found: Detour, members: Iterable[int], counter: int | None, is_counting: bool
) -> trampoline.Trampoline:
    """Who waits for calls that fail hears of no others, where the process can look at the results too. Beside a fault
    a breakpoint may want every call."""
    faults = faults_of.of_function(found, members)
    stopping = [number for number in members if number not in faults_of.numbers(members)]
    try:
        one, address = failing_calls.placed(found, stopping)
        failing = trampoline.FailingCalls([test_of(one, is_any_useful=True)], address)
        tests = [test_of(number, faults is not None) for number in stopping if number != one]
        return written(state, found, tests, counter, is_counting, failing, faults)
    except (failing_calls.NotHere, trampoline_space.NoLibrarySpace) as reason:
        for number in failing_calls.awaited(stopping):
            wanted_by(number).results = str(reason)
    tests = [test_of(number, faults is not None) for number in stopping]
    return written(state, found, tests, counter, is_counting, None, faults)


def written(
    state: Guarded, found: Detour, tests: list[trampoline.Test], counter: int | None, is_counting: bool,
    failing: trampoline.FailingCalls | None, faults: trampoline.InFront | None,
) -> trampoline.Trampoline:  # fmt: skip
    try:
        made = trampoline_space.place(found, tests, counter, found.stops_inside or is_counting, failing, faults)
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


def test_of(number: int, is_any_useful: bool = False) -> trampoline.Test:
    found = ours.filter_of(number)
    assert found is not None
    try:
        return breakpoint_filters.test_of(found, is_any_useful)
    except NoDetour as reason:
        is_for_now, results = isinstance(reason, gdb_threads.NotYet), wanted_by(number).results
        why = f"{reason}, for gdb has to look at the results: {results}" if results else str(reason)
        raise OfOne(number, why, f"and has no guard: {why}", is_for_now) from None


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
