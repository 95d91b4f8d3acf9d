"""A breakpoint at a bare address goes with the object that it is in, as soon as the loader has unmapped that.

gdb keeps it: it tries to insert it where nothing is mapped any more, and the program cannot go on, or it writes into
what is mapped there next. At the loader's breakpoint behind an unload gdb has just read the list of objects, and takes
what was inserted in those that are gone for gone: here it is switched off, and gdb writes nothing. It is deleted later,
for nothing is deleted inside ``stop``. Who planted it is told, and plants anew when the object is loaded again.
(gdb's breakpoint.c: disable_breakpoints_in_unloaded_shlib.)
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Callable, TypeVar

import gdb

from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import loader_watch
from gdbcuda.live.threads import children

Key = TypeVar("Key")


class Placed:
    """A breakpoint at a bare address of the process of an ``inferior``, by its number; ``beside``: all that are in the
    same object; ``has_others``: gdb has made locations in other processes, which are switched off; ``since``: when it
    came into gdb's table (`children.still`), None while it is off."""

    def __init__(self, breakpoint: gdb.Breakpoint, address: int, inferior: int) -> None:
        self.breakpoint = breakpoint
        self.address = address
        self.inferior = inferior
        self.beside: set[Placed] = set()
        self.has_others = False
        self.since: int | None = children.still()


# By gdb's name of the object. What is in none, as in the program, is not unloaded.
OBJECTS: PerInferior[dict[str, set[Placed]]] = PerInferior(dict)
TWINS: PerInferior[list[bool]] = PerInferior(list)  # two of one file have been there
ON_UNLOADED: list[Callable[[set[int]], None]] = []  # told of the addresses at which a breakpoint was
_trash: list[gdb.Breakpoint] = []


def watch() -> None:
    """Called by commands that will have breakpoints planted: in gdb's events none can be set on the loader's probes."""
    loader_watch.want(look)


def keep(made: Placed) -> None:
    name = gdb.solib_name(made.address)
    if name:
        made.beside = OBJECTS().setdefault(name, made.beside)
        made.beside.add(made)
        watch()


def look() -> None:
    """The loader has loaded or unloaded something. Of each object one address is enough: it goes as a whole; but where
    an object was ever there twice (dlmopen), one of the two may go."""
    gone: list[Placed] = []
    has_twins = have_been_twins()
    for name, placed in list(OBJECTS().items()):
        if has_twins:
            lost = {one for one in placed if not is_there(one.address, name)}
            placed -= lost
            gone += lost
        elif placed and not is_there(next(iter(placed)).address, name):
            gone += OBJECTS().pop(name)
    if gone:
        forget(gone)


def have_been_twins() -> bool:
    known = TWINS()
    if not known:
        files = [one.filename for one in gdb.objfiles() if one.filename and one.owner is None]
        known.extend([True] if len(set(files)) < len(files) else [])
    return bool(known)


def is_there(address: int, name: str) -> bool:
    return bool(gdb.solib_name(address) == name)


def still_there(objects: dict[Key, int]) -> dict[Key, int]:
    """Of objects with an address in each. (The program is in no list of gdb's.)"""
    return {key: at for key, at in objects.items() if gdb.solib_name(at) or process.in_program(at)}


def drop(addresses: set[int], *by_address: dict[int, Any]) -> None:
    """For those that are told: what they know by these addresses."""
    for known in by_address:
        for address in addresses & known.keys():
            del known[address]


def forget(gone: list[Placed]) -> None:
    process.forget()  # gdb 10 has no event for it
    for one in gone:
        put_away(one.breakpoint)
    addresses = {one.address for one in gone}
    for tell in ON_UNLOADED:
        tell(addresses)


def put_away(one: gdb.Breakpoint) -> None:
    """It stops nobody any more, and is deleted where that can be."""
    if one.is_valid():
        with suppress(gdb.error):
            one.enabled = False
        _trash.append(one)


def sweep(event: object = None) -> None:
    """Where gdb is not in the middle of a stop of its own."""
    while _trash:
        one = _trash.pop()
        if one.is_valid():
            one.delete()
