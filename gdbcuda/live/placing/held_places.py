"""Whether a breakpoint's places may be switched now: gdb 14 to 16 write into places that they have freed.

Where objects come, go or move gdb sets a breakpoint again: it makes new places, tells of that, and only then lets go of
the old ones. Whatever is switched, made or deleted meanwhile lets gdb free those, and it writes into what is there by
then. Some time later it ends, with "malloc(): ..." or an assertion of its intrusive_list.
A place that Python holds is not freed. So those of each breakpoint are held. gdb also makes others without a word,
where they are the same as before: then nothing is held, and what would be switched waits.
(gdb's breakpoint.c: update_breakpoint_locations, enable_disable_bp_location, update_global_location_list.)
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Callable

import gdb

from gdbcuda.live.host import gdb_cli

FREES = hasattr(gdb, "notify_mi")  # gdb 14 is the first that has such lists, and this
ENOUGH = 16  # of the places that were held before: a handler of somebody else's may come behind ours


class HeldPlaces:
    """``places``: of the breakpoint; ``hits``: as many as it had then."""

    def __init__(self, breakpoint: gdb.Breakpoint) -> None:
        self.breakpoint = breakpoint
        self.places: Sequence[gdb.BreakpointLocation] = ()
        self.hits = breakpoint.hit_count
        self.renew()

    def renew(self) -> None:
        self.places = self.breakpoint.locations if self.breakpoint.is_valid() else ()

    def is_whole(self) -> bool:
        """These are the breakpoint's places, or those that gdb is about to let go of."""
        return all(map(is_gdbs, self.places))


def is_gdbs(place: gdb.BreakpointLocation) -> bool:
    """It raises of one that gdb has nowhere any more."""
    with suppress(RuntimeError):
        return place.owner is not None
    return False


_users: dict[int, HeldPlaces] = {}
_ours: dict[int, HeldPlaces] = {}  # thousands, in a log
_before: list[Sequence[gdb.BreakpointLocation]] = []
_waiting: list[Callable[[], None]] = []


def known(number: int) -> dict[int, HeldPlaces]:
    return _users if number > 0 else _ours


def may_switch(breakpoint: gdb.Breakpoint) -> bool:
    """In an event about this breakpoint, whatever is switched."""
    held = known(breakpoint.number).get(breakpoint.number)
    return not FREES or (held is not None and held.is_whole())


def when_possible(breakpoint: gdb.Breakpoint, action: Callable[[gdb.Breakpoint], None]) -> None:
    """Now, or as soon as gdb is done with the breakpoint; never where that has gone by then."""
    if may_switch(breakpoint):
        action(breakpoint)
    else:
        _waiting.append(lambda: action(breakpoint) if breakpoint.is_valid() else None)


def catch_up(event: object = None) -> None:
    """gdb sets none again."""
    on_change()
    while _waiting:
        _waiting.pop(0)()


def on_change(event: object = None) -> None:
    """gdb may be about to set them again."""
    if is_ours_switched():
        for one in gdb.breakpoints():
            if one.number not in known(one.number):
                on_created(one)
    else:
        _ours.clear()  # of a second process that has gone
    for held in (*_users.values(), *_ours.values()):
        if not held.is_whole():
            held.renew()


def is_ours_switched() -> bool:
    """A breakpoint of ours that gdb sets again is switched only where it has places in other processes."""
    return len(gdb.inferiors()) > 1


def on_created(breakpoint: gdb.Breakpoint) -> None:
    if FREES and (breakpoint.number > 0 or is_ours_switched()):
        known(breakpoint.number)[breakpoint.number] = HeldPlaces(breakpoint)


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    """When all others have heard of it. A hit leaves the places as they are."""
    held = known(breakpoint.number).get(breakpoint.number)
    if held is None:
        return
    is_hit, held.hits = breakpoint.hit_count > held.hits, breakpoint.hit_count
    if not is_hit:
        if not gdb_cli.is_nested():
            del _before[:-ENOUGH]
        _before.append(held.places)
        held.renew()


def on_deleted(breakpoint: gdb.Breakpoint) -> None:
    known(breakpoint.number).pop(breakpoint.number, None)


def begin() -> None:
    for one in gdb.breakpoints():
        on_created(one)


begin()
