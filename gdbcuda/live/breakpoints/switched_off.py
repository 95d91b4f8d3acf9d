"""gdb switches a breakpoint off where it cannot set it again: it is switched on again.

Where a process has ended and the next one executes its program, gdb may find the function in neither: it says "Error in
re-setting breakpoint", and so as not to say it ten times the breakpoint is off from then on. It tells nobody.
(gdb's breakpoint.c: location_spec_to_sals.)
"""

from __future__ import annotations

import gdb

from gdbcuda.live.breakpoints import locations, ours
from gdbcuda.text.patterns import pattern

EXPLICIT = pattern(r"^(?:-qualified )?-function ")  # which gdb.decode_line does not read


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    """By the user, by us, or a hit."""
    known = ours.find(breakpoint.number)
    if known is not None and known.when_modified is not None:
        note(breakpoint)


def on_stop(event: gdb.StopEvent) -> None:
    """``enable once`` has switched it off by now, and a handler before this one may have deleted it."""
    for one in filter(gdb.Breakpoint.is_valid, getattr(event, "breakpoints", ())):
        on_modified(one)


def on_objfile(event: object) -> None:
    """Before gdb sets them again. (One process alone has nothing of before.)"""
    if len(gdb.inferiors()) > 1 or any(one.is_off_by_gdb for one in ours.everyone()):
        for one in gdb.breakpoints():
            if one.visible:
                renew(one)


def renew(breakpoint: gdb.Breakpoint) -> None:
    """Once gdb will find it: as long as it is off gdb says no more of it."""
    if breakpoint.enabled or ours.of(breakpoint.number).when_modified != (True, breakpoint.hit_count):
        note(breakpoint)
    elif locations.decoded(EXPLICIT.sub("", breakpoint.location or "")):
        breakpoint.enabled = True  # which is noted
    else:
        ours.of(breakpoint.number).is_off_by_gdb = True


def note(breakpoint: gdb.Breakpoint) -> None:
    known = ours.of(breakpoint.number)
    known.when_modified = breakpoint.enabled, breakpoint.hit_count
    known.is_off_by_gdb = False
