"""What stands in front of a breakpoint's condition where gdb loses a register of who is stepped off there.

It lets every call through. It comes first: what is behind it would be asked about a register that is another one than
the call's, and may decide before anybody of ours has looked. (`threads.lent_registers` gives it back.)
"""

from __future__ import annotations

from collections.abc import Iterable

import gdb

from gdbcuda.live.breakpoints import locations
from gdbcuda.live.breakpoints.locations import Location
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.threads import lent_registers

FRONT = "$_cuda_registers()"
IN_FRONT = f"{FRONT} && ("
IS_WRITTEN = "$_cuda_break("  # gdb is about to write it into a file


def of(breakpoint: gdb.Breakpoint) -> str:
    """Without that."""
    text = breakpoint.condition or ""
    return "" if text == FRONT else text[len(IN_FRONT) : -1] if text.startswith(IN_FRONT) else text


def complete(breakpoint: gdb.Breakpoint, places: Iterable[Location] = ()) -> None:
    """After any change of its places or its condition. (While it is pending, gdb loses a condition that is set.)"""
    places = places or locations.of(breakpoint) if lent_registers.ARE_LOST else ()
    own, now = of(breakpoint), breakpoint.condition or ""
    if not places or own.startswith(IS_WRITTEN):
        return
    is_needed = any((one.enabled or own != now) and is_lost_at(one) for one in places)
    wanted = (f"{IN_FRONT}{own})" if own else FRONT) if is_needed else own
    if wanted != now:
        with gdb_cli.in_c():
            breakpoint.condition = wanted or None


def is_lost_at(place: Location) -> bool:
    inferior = inferiors.numbered(place.inferior)
    if place.is_plt or inferior is None:
        return False
    with inferiors.selected(inferior):
        return lent_registers.is_lost_at(place.address)
