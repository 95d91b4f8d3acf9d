"""Breakpoints of ours on the loader: the moment behind each load and unload, outside of gdb's events.

gdb asks them after it has read the loader's list and set its own breakpoints again, which without probes it also does
where a load begins: what its events about objects have begun (`guarding.guards.on_objfile`) ends there, before anything
runs. In gdb's events about objects and breakpoints it is in the middle of that. Internal, for they never stop.
(glibc's probes in elf/rtld.c, dl-open.c and dl-close.c, and _dl_debug_state where the loader has none, which is called
where a load begins and where it ends: gdb's own places, so they cost a link no packets.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

import gdb

from gdbcuda.api import vendor
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli, interrupts
from gdbcuda.live.placing import held_places
from gdbcuda.live.prompt import safely

START = "-probe-stap rtld:init_complete"
CHANGES = ("-probe-stap rtld:reloc_complete", "-probe-stap rtld:unmap_complete")
NO_PROBES = "-function _dl_debug_state"
# in gdb's python command: binds no name of the user's
THIS = "__import__('gdbcuda.live.placing.loader_watch', fromlist=['*'])"

FIRST, USUAL, LAST = range(3)
ON_STOP: list[Callable[[], None]] = []  # at each of them, also where a load begins
_wanted: dict[Callable[[], None], int] = {}  # when each is called
_places: dict[str, LoaderBreakpoint] = {}
_coming_again: set[int] = set()  # threads that have been sent elsewhere from there


class LoaderBreakpoint(gdb.Breakpoint):
    def __init__(self, spec: str) -> None:
        super().__init__(spec, internal=True)
        self.spec = spec
        _places[spec] = self

    @safely.looking_on
    def stop(self) -> bool:
        if self.spec == NO_PROBES and any(map(is_probe, _places.values())):
            self.enabled = False
        for tell in ON_STOP:
            tell()
        changed(self.spec == NO_PROBES)
        return False


def changed(is_begin_too: bool = True) -> None:
    """A thread is there. ``is_begin_too``: also where a load begins."""
    thread = gdb.selected_thread().global_num
    if thread in _coming_again:
        _coming_again.discard(thread)
        return
    gdb_cli.catch_up()
    held_places.catch_up()
    if is_begin_too and process.is_load_beginning():
        return
    for action in sorted(_wanted, key=_wanted.__getitem__):
        action()


def come_again() -> None:
    """The selected thread, which is at one of them, will be there once more."""
    _coming_again.add(gdb.selected_thread().global_num)


def is_probe(place: LoaderBreakpoint) -> bool:
    return place.spec in CHANGES and not place.pending


def want(action: Callable[[], None], when: int = USUAL) -> None:
    """Called at each load and unload from now on; ``LAST`` where it heeds what others do there, ``FIRST``
    where they heed what it does."""
    _wanted.setdefault(action, when)
    gdb_cli.when_possible(watch)


def is_wanted(action: Callable[[], None]) -> bool:
    return action in _wanted


def is_any_wanted() -> bool:
    return bool(_wanted)


def unwant(action: Callable[[], None]) -> Sequence[gdb.Breakpoint]:
    """The breakpoints that nobody needs any more: to be deleted where gdb is not in the middle of its list."""
    _wanted.pop(action, None)
    left = [] if _wanted else list(_places.values())
    if left:
        _places.clear()
    return left


@interrupts.uninterrupted
def watch() -> None:
    """Where there is no loader yet gdb would say so: hence the command, whose text is dropped. (A Ctrl-C in it would be
    told as "Error while executing Python code", and what is left of this never be done.)"""
    for spec in (START, *CHANGES, NO_PROBES) if _wanted else ():
        if spec not in _places:
            gdb_cli.execute(f"python {THIS}.LoaderBreakpoint({spec!r})")


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    """The loader is there, and no command could be executed before: what every one of them has."""
    if _wanted and not _places and vendor.is_loader(event.new_objfile.filename or ""):
        LoaderBreakpoint(NO_PROBES)
