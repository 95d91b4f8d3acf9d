"""What becomes of guards when the user's breakpoints, or others on the same functions, change or go.

Nothing is made here (`renewing` says why): these are events about breakpoints.
"""

from __future__ import annotations

import gdb

from gdbcuda.live import breakpoints
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.locations import Location, places
from gdbcuda.live.breakpoints.ours import OurBreakpoint
from gdbcuda.live.guard.guard import Guard
from gdbcuda.live.guard.watch import switching
from gdbcuda.live.guarding.by_process import PROCESSES, look_again
from gdbcuda.live.guarding.load_events import watch_or_not
from gdbcuda.live.guarding.making import remove
from gdbcuda.live.guarding.renewing import is_changed
from gdbcuda.live.placing import held_places, link, own_process


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    """What does not hold any more ends now; what could be made waits for a better moment."""
    if switching:
        return
    one = ours.find(breakpoint.number)
    if one is None or one.filter is None:
        if breakpoint.number > 0:
            held_places.when_possible(breakpoint, on_created)
        return
    for here in one.here.all():
        here.guards.is_stale = True
    held_places.when_possible(breakpoint, end_what_does_not_hold)


def end_what_does_not_hold(breakpoint: gdb.Breakpoint) -> None:
    for guard in PROCESSES().guards_of(breakpoint.number):
        if not breakpoint.enabled or is_changed(breakpoint):  # (gdb may be in the middle of its locations)
            remove(guard)


def on_created(breakpoint: gdb.Breakpoint) -> None:
    """Somebody's breakpoint on bytes that we have replaced: it has the right of way."""
    if breakpoint.number <= 0 or ours.filter_of(breakpoint.number) is not None:
        return
    state = PROCESSES()
    for guard in list(state.guards.values()):
        if breakpoint.number not in guard.members and any(
            at in guard.detour.claimed and on for at, on in places(breakpoint)
        ):
            give_way(guard)


def on_not_meant(breakpoint: gdb.Breakpoint, place: Location) -> None:
    """A place that has a guard by now: a hook library that answers for the function was seen later, or was loaded."""
    if place.inferior in (0, gdb.selected_inferior().num):
        for guard in PROCESSES().guards_of(breakpoint.number):
            if guard.stop == place.address:
                give_way(guard)


def give_way(guard: Guard) -> None:
    state = PROCESSES()
    look_again(guard.members)
    remove(guard)
    for one in [other for number in guard.members for other in state.guards_of(number)]:
        if one.is_counting:  # at all of its places, or at none
            remove(one)


def on_entry_watched(address: int, on: bool) -> None:
    """Somebody of ours looks at every call of the function from now on, or does not any more."""
    state = PROCESSES()
    if on and address in state.guards:
        with link.as_it_is():
            give_way(state.guards[address])
    state.touched.add(address)


def on_gone(gone: OurBreakpoint) -> None:
    if gone.filter is None:
        return
    state = PROCESSES()
    state.touched.update(gone.here().guards.stops)  # it may have been what kept the others from having a guard
    for guard in state.guards_of(gone.number):
        look_again(set(guard.members) - {gone.number})
        remove(guard)
    if not ours.is_any_filtered():
        watch_or_not()
        state.look_no_more()


own_process.ON_ENTRY.append(on_entry_watched)
breakpoints.ON_NOT_MEANT.append(on_not_meant)
ours.ON_GONE.append(on_gone)
