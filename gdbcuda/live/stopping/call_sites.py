"""The breakpoints at call sites: where calls return that the user's breakpoints wait for.

One a call site, made when it is first needed, and an ordinary breakpoint: what stops must be one, for an internal one
shows as bkptno="-1" in an IDE. (FinishBreakpoint gets slower with every call.) One at a bare address would make
the next ``run`` fail, so they go with their process.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import gdb

from gdbcuda.live import breakpoints
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import own_process, unloading


@dataclass
class Site:
    """One call site; ``owners`` are the numbers of the user's breakpoints that have calls returning there, ``commands``
    what it has of theirs."""

    breakpoint: gdb.Breakpoint
    owners: set[int]
    commands: str = ""


@dataclass
class Sites:
    """Of one process, by return address."""

    known: dict[int, Site] = field(default_factory=dict)

    def end(self) -> None:
        for site in self.known.values():
            if site.breakpoint.is_valid():
                site.breakpoint.delete()
        self.known.clear()


SITES: PerInferior[Sites] = PerInferior(Sites, Sites.end)


def watch(address: int, number: int) -> None:
    """Breakpoint ``number`` of the user waits for a call that returns to the address."""
    sites = SITES().known
    site = sites.get(address)
    if site is None or not site.breakpoint.is_valid():
        made = breakpoints.execute_break(f"break *{address:#x} if $_cuda_returned({address:#x})")
        own_process.confine(made, address)
        site = sites[address] = Site(made, set())
    if number not in site.owners:
        site.owners.add(number)
        inherit_commands(site)


def inherit_commands(site: Site) -> None:
    """The ``commands`` of the user's breakpoint are meant for where it stops; what the site itself was given stays."""
    owners = [one for one in gdb.breakpoints() if one.number in site.owners]
    text = "".join(dict.fromkeys(filter(None, (one.commands for one in owners))))
    if text != site.commands and (site.breakpoint.commands or "") == site.commands:
        site.breakpoint.commands = text
        site.commands = site.breakpoint.commands or ""


def take(inferior: gdb.Inferior) -> dict[int, set[int]]:
    """Deletes them, for a while; `watch` makes them again, from the addresses and owners that this returns."""
    taken = {address: site.owners for address, site in SITES.of(inferior).known.items()}
    SITES.of(inferior).end()
    return taken


def forget_unloaded(addresses: set[int]) -> None:
    """(`unloading` deletes the breakpoints.)"""
    unloading.drop(addresses, SITES().known)


unloading.ON_UNLOADED.append(forget_unloaded)


def on_breakpoint_modified(breakpoint: gdb.Breakpoint) -> None:
    """Also when it is given ``commands``."""
    for sites in SITES.all():
        for site in sites.known.values():
            if breakpoint.number in site.owners and site.breakpoint.is_valid():
                inherit_commands(site)


def on_breakpoint_deleted(breakpoint: gdb.Breakpoint) -> None:
    """Nobody waits at its call sites now; `sweep` takes them away, for here gdb is in the middle of its own list."""
    for sites in SITES.all():
        for site in sites.known.values():
            site.owners.discard(breakpoint.number)


def sweep(event: object = None) -> None:
    """Between commands: deletes those that nobody waits at. (A gdb.post_event left over at exit crashes gdb 13.)"""
    for sites in SITES.all():
        for address, site in [(a, s) for a, s in sites.known.items() if not s.owners]:
            del sites.known[address]
            if site.breakpoint.is_valid():
                site.breakpoint.delete()
