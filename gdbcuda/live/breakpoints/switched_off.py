"""gdb switches a breakpoint off where it cannot set it again: it is switched on again.

Where a process has ended and the next one executes its program, gdb may find the function in neither: it says "Error in
re-setting breakpoint", and so as not to say it ten times the breakpoint is off from then on. It tells nobody.
(gdb's breakpoint.c: location_spec_to_sals.)
"""

from __future__ import annotations

import gdb

from gdbcuda.live.breakpoints import locations
from gdbcuda.text.patterns import pattern

EXPLICIT = pattern(r"^(?:-qualified )?-function ")  # which gdb.decode_line does not read
_seen: dict[int, tuple[bool, int]] = {}  # enabled, hits; by number
_off: set[int] = set()  # by gdb


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    """By the user, by us, or a hit."""
    if breakpoint.number in _seen:
        note(breakpoint)


def on_stop(event: gdb.StopEvent) -> None:
    """``enable once`` has switched it off by now, and a handler before this one may have deleted it."""
    for one in filter(gdb.Breakpoint.is_valid, getattr(event, "breakpoints", ())):
        on_modified(one)


def on_objfile(event: object) -> None:
    """Before gdb sets them again. (One process alone has nothing of before.)"""
    if len(gdb.inferiors()) > 1 or _off:
        for one in gdb.breakpoints():
            if one.visible:
                renew(one)


def renew(breakpoint: gdb.Breakpoint) -> None:
    """Once gdb will find it: as long as it is off gdb says no more of it."""
    if breakpoint.enabled or _seen.get(breakpoint.number) != (True, breakpoint.hit_count):
        note(breakpoint)
    elif locations.decoded(EXPLICIT.sub("", breakpoint.location or "")):
        breakpoint.enabled = True  # which is noted
    else:
        _off.add(breakpoint.number)


def note(breakpoint: gdb.Breakpoint) -> None:
    _seen[breakpoint.number] = breakpoint.enabled, breakpoint.hit_count
    _off.discard(breakpoint.number)
