"""The breakpoints at call sites: where calls return that the user's breakpoints wait for.

One a call site, made when it is first needed, and an ordinary breakpoint: what stops must be one, for an internal one
shows as bkptno="-1" in an IDE. (FinishBreakpoint gets slower with every call.) One at a bare address would make
the next ``run`` fail, so they go with their process.
"""

from __future__ import annotations

import gdb

from gdbcuda.live import breakpoints
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import own_process, silence, unloading


class Site:
    """One call site; ``commands``: what it has of those of the user's breakpoints that wait there; ``in_vain``: how
    many calls have returned that nobody waits for, since it is silent; ``is_off``: because of these."""

    def __init__(self, breakpoint: gdb.Breakpoint) -> None:
        self.breakpoint = breakpoint
        self.commands = ""
        self.in_vain = 0
        self.is_off = False

    def wake(self, address: int) -> None:
        silence.wake(address)
        if self.is_off:
            self.is_off, self.breakpoint.enabled = False, True

    def fall_silent(self, address: int) -> None:
        """Nobody waits for any of the calls that return here now, and each would stop."""
        self.in_vain = silence.let_pass(address, self.in_vain, self.switch_off)

    def switch_off(self) -> None:
        self.is_off, self.breakpoint.enabled = True, False


class Sites:
    """Of one process, by return address."""

    def __init__(self) -> None:
        self.known: dict[int, Site] = {}

    def end(self) -> None:
        for site in self.known.values():
            if site.breakpoint.is_valid():
                site.breakpoint.delete()
        self.known.clear()


SITES: PerInferior[Sites] = PerInferior(Sites, Sites.end)


def watch(address: int, number: int) -> None:
    """Breakpoint ``number`` of the user waits for a call that returns to the address."""
    known, mine = SITES().known, ours.of(number).here().sites
    if address in known and known[address].breakpoint.is_valid():
        known[address].wake(address)
        if address in mine:
            return
    else:
        made = breakpoints.execute_break(f"break *{address:#x} if $_cuda_returned({address:#x})")
        own_process.confine(made, address)
        known[address] = Site(made)
    mine.add(address)
    inherit_commands(known[address], waiting_at(address, gdb.selected_inferior()))


def returned_in_vain(address: int) -> None:
    site = SITES().known.get(address)
    if site is not None and site.breakpoint.is_valid() and site.breakpoint.enabled:
        site.fall_silent(address)


def waiting_at(address: int, inferior: gdb.Inferior) -> set[int]:
    return {one.number for one in ours.everyone() if address in one.here.of(inferior).sites}


def inherit_commands(site: Site, waiting: set[int]) -> None:
    """The ``commands`` of the user's breakpoint are meant for where it stops; what the site itself was given stays."""
    text = "".join(dict.fromkeys(one.commands for one in gdb.breakpoints() if one.number in waiting and one.commands))
    if text != site.commands and (site.breakpoint.commands or "") == site.commands:
        site.breakpoint.commands = text
        site.commands = site.breakpoint.commands or ""


def take_out() -> list[gdb.Inferior]:
    """Deletes them, for a while: `put_back` makes them again, in the inferiors that this returns."""
    found = [one for one in gdb.inferiors() if SITES.of(one).known]
    for inferior in found:
        SITES.of(inferior).end()
    return found


def put_back() -> None:
    for one in ours.everyone():
        for address in sorted(one.here().sites):
            watch(address, one.number)


def forget_unloaded(addresses: set[int]) -> None:
    """(`unloading` deletes the breakpoints.)"""
    unloading.drop(addresses, SITES().known)
    for one in ours.everyone():
        one.here().sites -= addresses


unloading.ON_UNLOADED.append(forget_unloaded)


def on_breakpoint_modified(breakpoint: gdb.Breakpoint) -> None:
    """Also when it is given ``commands``."""
    one = ours.find(breakpoint.number)
    if one is None:
        return
    for inferior in gdb.inferiors():
        known = SITES.of(inferior).known
        for address in one.here.of(inferior).sites & known.keys():
            if known[address].breakpoint.is_valid():
                inherit_commands(known[address], waiting_at(address, inferior))


def sweep(event: object = None) -> None:
    """Between commands: deletes those that nobody waits at any more. (Where a breakpoint is deleted, gdb is in the
    middle of its own list. A gdb.post_event left over at exit crashes gdb 13.)"""
    for inferior in [one for one in gdb.inferiors() if SITES.of(one).known]:
        known = SITES.of(inferior).known
        for address in known.keys() - set().union(*(one.here.of(inferior).sites for one in ours.everyone())):
            site = known.pop(address)
            if site.breakpoint.is_valid():
                site.breakpoint.delete()
