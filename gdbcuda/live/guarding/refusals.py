"""Why a function gets no guard, as far as that is known before anything is made."""

from __future__ import annotations

from collections.abc import Iterable

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.breakpoints import locations, ours
from gdbcuda.live.breakpoints.locations import places
from gdbcuda.live.guard import forks
from gdbcuda.live.guarding import own_syscalls, seccomp
from gdbcuda.live.guarding.by_process import PROCESSES, Guarded, members_of, wanted, wanted_by
from gdbcuda.live.patching import detours, trampoline_space
from gdbcuda.live.placing import own_process
from gdbcuda.live.threads import children, positions, standstill
from gdbcuda.machine.detour import Detour, NoDetour

MOST = 256  # guards: gdb takes ever longer over our breakpoints, 1,000 guards made each continue two seconds slower
COMMANDS_ALONE = "this gdb switches places of a breakpoint by commands alone, which no event may execute (gdb 13 can)"
NOT_EVERYWHERE = "it counts calls at several places, and one of them has no guard ({})"
Threads = dict[int, "list[positions.Position] | None"]


class NotNow(NoDetour):
    """Later perhaps: what is in the way now is no property of the function."""


class OfOne(NoDetour):
    """For one of the breakpoints on the function; the others have ``for_others`` as the reason."""

    def __init__(self, number: int, reason: str, for_others: str, is_for_now: bool = False) -> None:
        super().__init__(reason)
        self.number, self.is_for_now = number, is_for_now
        self.for_others = f"breakpoint {number} is on the same function, {for_others}"


def everywhere(function: int, members: dict[int, int], others: list[gdb.Breakpoint]) -> tuple[Detour, Threads]:
    """The patch that the function may have, and where the threads are. The process counts a breakpoint's calls at all
    of its places, or gdb does: gdb cannot add to a number that threads add to meanwhile."""
    state = PROCESSES()
    counted = counting_ones(members)
    places_too = sorted({at for number in counted for at in wanted_by(number).stops} - {function})
    try:
        for at in places_too:
            if at not in state.guards:
                allowed(at, members_of(at), others)
        return allowed(function, members, others)
    except (NoDetour, UserError) as problem:
        if not places_too or isinstance(problem, OfOne):
            raise
        kind = NotNow if isinstance(problem, NotNow) else NoDetour
        raise kind(NOT_EVERYWHERE.format(problem)) from None


def counting_ones(members: Iterable[int]) -> list[int]:
    return [number for number in members if any(one.is_counting for one in ours.filters([number]))]


def allowed(function: int, members: dict[int, int], others: list[gdb.Breakpoint]) -> tuple[Detour, Threads]:
    state = PROCESSES()
    refuse_what_cannot_be_shared(members)
    refuse_resolver(function, members)
    refuse_more_than_gdb_bears(state)
    if function in process.PATCHED() and function not in state.guards:
        raise NotNow("its calls are being recorded; there will be one after the next stop")
    found = detours.plan(function, next(iter(members.values())), trampoline_space.is_unwound(function))
    if any(one.asks_kernel for one in ours.filters(members)):
        refuse_confined(state)
    if found.stops_inside and standstill.stands_still():
        refuse_what_cannot_be_switched(members)
    refuse_other_breakpoints(found, others)
    is_in_danger = bool(forks.ways_of_sharing()) or (found.stops_inside and standstill.stands_still())
    if is_in_danger and (forks.is_going_on() or children.is_memory_shared()):
        raise NotNow(forks.REASON)
    return found, standing(found)


def refuse_what_cannot_be_shared(members: dict[int, int]) -> None:
    if len(set(members.values())) > 1:
        raise NoDetour("its breakpoints are at different places")
    alone_there = counting_ones(members)
    if alone_there and len(members) > 1:
        alone = "it counts calls, and another breakpoint is on the same function"
        raise OfOne(alone_there[0], alone, "and counts calls")


def refuse_resolver(function: int, members: dict[int, int]) -> None:
    """gdb has to see its end, to learn where the breakpoint belongs."""
    file = process.object_of(function)
    for name in {wish.function for wish in map(ours.wish_of, members) if wish is not None}:
        if process.is_indirect(file, name) and process.exports(file, name, function):
            raise NotNow("it is an indirect function (IFUNC) that nobody has called yet")


def refuse_confined(state: Guarded) -> None:
    is_known = state.is_confined or (process.is_remote() and state.is_confined is not None)
    if not is_known and seccomp.is_confined():
        state.is_confined = True
    if state.is_confined:
        raise NoDetour(seccomp.REASON)
    past_libc = own_syscalls.reason()
    if past_libc:
        raise NoDetour(past_libc)


def refuse_what_cannot_be_switched(members: dict[int, int]) -> None:
    """(`guard/far_guard.py` does that.)"""
    for number in () if locations.LISTS else members:
        if sum(on for one in gdb.breakpoints() if one.number == number for _, on in places(one)) > 1:
            raise OfOne(number, COMMANDS_ALONE, COMMANDS_ALONE)


def refuse_more_than_gdb_bears(state: Guarded) -> None:
    if state.is_full:
        raise trampoline_space.NoTrampolineSpace(state.is_full)
    if len(state.guards) >= MOST:
        raise trampoline_space.NoTrampolineSpace(
            f"{MOST} functions have one already, and more would make every stop slow"
        )


def standing(found: Detour) -> dict[int, list[positions.Position] | None]:
    """Where the threads are; it has to be known, unless none can be in the function."""
    threads = positions.standing()
    if None in threads.values() and process.object_of(found.function) not in PROCESSES().fresh:
        raise NotNow("threads are running; there will be one after the next stop")
    if process.object_of(found.function) not in PROCESSES().fresh and positions.is_unreadable(threads):
        raise NotNow("a thread's stack cannot be read: a signal handler may return into the function")
    between = set(found.replaced) - {found.function, *found.boundaries}
    if any(pc in between for one in threads.values() for pc, _ in one or ()):
        raise NotNow("a thread is in the function's first instructions now")
    return threads


def strangers() -> list[gdb.Breakpoint]:
    """The breakpoints of which it is not known at which function they want a guard: they may be anywhere."""
    known = {number for number, one in wanted().items() if one.stops}
    return [one for one in gdb.breakpoints() if one.number > 0 and one.number not in known]


def refuse_other_breakpoints(found: Detour, others: list[gdb.Breakpoint]) -> None:
    if found.function in own_process.ENTRIES():
        raise NotNow("all of its calls are watched (by cuda-log, say)")
    for one in others:
        if one.is_valid() and one.enabled and any(at in found.claimed and on for at, on in places(one)):
            raise NotNow(f"breakpoint {one.number} is on the function's first instructions")
