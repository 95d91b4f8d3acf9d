"""What stands in front of a breakpoint's condition where gdb loses a register of who is stepped off there.

It lets every call through. It comes first: what is behind it would be asked about a register that is another one than
the call's, and may decide before anybody of ours has looked. (`threads.lent_registers` gives it back.)
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext, suppress

import gdb

from gdbcuda.live.breakpoints import locations, ours
from gdbcuda.live.breakpoints.locations import Location
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.threads import lent_registers
from gdbcuda.text.patterns import pattern

FRONT = "$_cuda_registers()"
IN_FRONT = f"{FRONT} && ("
QUOTED = pattern(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
IS_WRITTEN = "$_cuda_break("  # gdb is about to write it into a file


def of(breakpoint: gdb.Breakpoint) -> str:
    """Without that. (The user may have added to what `info breakpoints` shows.)"""
    return without(breakpoint.condition or "")


def without(text: str) -> str:
    if text.startswith(IN_FRONT) and is_one_pair(text[len(FRONT) + len(" && ") :]):
        return text[len(IN_FRONT) : -1]
    return "" if text == FRONT else text


def is_one_pair(text: str) -> bool:
    """Does the last bracket close the first one?"""
    depth = 0
    for at, letter in enumerate(plain := QUOTED.sub("", text), 1):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return at == len(plain)
    return False


def complete(breakpoint: gdb.Breakpoint, places: Iterable[Location] = ()) -> None:
    """After any change of its places or its condition. (While it is pending, gdb loses a condition that is set.)

    Once it stands there it stays: where it was taken away as a process ended beside others, gdb could not let them go
    on. (gdb 13; 11 of 48 sessions on a busy machine.)"""
    places = places or locations.of(breakpoint) if lent_registers.ARE_LOST else ()
    own, now = of(breakpoint), breakpoint.condition or ""
    if now.startswith(FRONT) or own.startswith(IS_WRITTEN):
        return
    if any(one.enabled and is_lost_at(one) for one in places):
        write(breakpoint, own)


def write(breakpoint: gdb.Breakpoint, own: str) -> None:
    """What the user has typed stays in its language, in which ours may have no meaning; and it may be one that gdb
    cannot read now (``condition -force``). Then it stays as it is."""
    made = ours.filter_of(breakpoint.number)
    is_users = made is not None and own != made.native
    with suppress(gdb.error), nullcontext() if is_users else gdb_cli.in_c():
        breakpoint.condition = f"{IN_FRONT}{own})" if own else FRONT


def is_lost_at(place: Location) -> bool:
    inferior = inferiors.numbered(place.inferior)
    if place.is_plt or inferior is None:
        return False
    with inferiors.selected(inferior):
        return lent_registers.is_lost_at(place.address)
