"""Looks for code that answers under another name: when the constructors of the libraries have run, which is at the
program's first instruction, and when objects are loaded. Nothing is looked for but what somebody wants."""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress
from functools import lru_cache
from typing import Callable

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import process
from gdbcuda.live.frames import frames
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import this_snapshot
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.noticing import notice, wrappers
from gdbcuda.live.placing import leaving, loader_function, loader_watch, own_process
from gdbcuda.routes.answering import Answering, found
from gdbcuda.routes.snapshot import ProcessSnapshot

MOST_FRAMES = 500
WANTED: list[Callable[[], Set[str]]] = []  # the API functions that somebody waits for
ON_LOOK: list[Callable[[], None]] = []
ON_BEGUN: list[Callable[[], None]] = []


class EntryPoint(own_process.Internal):
    """At the program's first instruction."""

    sees_all_calls = False

    def stop(self) -> bool:
        PLACES().is_early, PLACES().has_begun = False, True
        look()
        for tell in ON_BEGUN:
            tell()
        return False


class EntryPlaces:
    """Of one process."""

    def __init__(self) -> None:
        self.entry: EntryPoint | None = None
        self.is_early = False  # in front of the program's first instruction
        self.has_begun = False

    def end(self) -> None:
        if self.entry is not None and self.entry.is_valid():
            self.entry.delete()


PLACES: PerInferior[EntryPlaces] = PerInferior(EntryPlaces, EntryPlaces.end)


def want() -> None:
    """Somebody waits for more functions than before."""
    loader_watch.want(loaded)
    if process.is_alive():
        loader_function.place()
    if process.is_alive() and not process.search_order():
        PLACES().is_early = plant()
    elif process.is_alive():
        PLACES().has_begun = PLACES().has_begun or is_in_program()
        look()


def loaded() -> None:
    """Objects were loaded. In front of the program's first instruction their constructors have yet to run."""
    if plant():
        PLACES().is_early = True
    else:
        look()


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    """(gdb 10 has no loader's breakpoint in time where the program is behind gdbserver.)"""
    if not loader_watch.is_wanted(loaded) or not gdb.selected_inferior().pid:
        return
    with suppress(gdb.error):  # in an exec behind gdbserver the thread is taken for running; `loaded` comes later
        if plant():
            PLACES().is_early = vendor.is_loader(gdb.solib_name(process.register("pc")) or "")


def plant() -> bool:
    here, address = PLACES(), process.auxiliary().get("AT_ENTRY", 0)
    if here.entry is not None or not address or process.connection() == "core" or here.has_begun or not wanted():
        return False
    here.entry = EntryPoint(address)
    return True


def sweep(event: object = None) -> None:
    """At a stop, and between commands: the program's first instruction is behind it, or nobody waits for that."""
    for here in PLACES.all():
        if here.entry is not None and (here.has_begun or not wanted()):
            known = {here.entry.address: here.entry}
            leaving.delete(known, list(known))
            here.entry = known.get(here.entry.address)


def is_in_program() -> bool:
    """A frame is: its first instruction has been executed, though nobody of ours saw it."""
    with suppress(gdb.error):  # a process of which gdb knows little yet, or that runs
        return any(process.in_program(one.pc()) for one in frames.innermost(MOST_FRAMES))
    return False


def constructors_may_patch() -> bool:
    """They have yet to run, and somebody here makes code writable. Who overwrites the vendor's functions reads their
    entries first, and does not install itself where it finds gdb's breakpoint; and through gdbserver nobody would see
    what it has written: that shows what was there in front of a breakpoint, and writes it when it takes that out."""
    if not PLACES().is_early:
        return False
    try:
        return this_snapshot.now().may_be_patched
    except UserError:  # the loader has not begun
        return True


def wanted() -> frozenset[str]:
    return the_same(frozenset[str]().union(*(names() for names in WANTED)))


@lru_cache(maxsize=1)
def the_same(names: frozenset[str]) -> frozenset[str]:
    """Equal to the ones before, it is the same object: what is kept by it is found at once."""
    return names


def get_ready() -> None:
    """What looks on by breakpoints has its own. Where many stay in the process, gdb would write all for each of them:
    they come first."""
    if wanted() and process.is_alive():
        for tell in ON_LOOK:
            tell()


def look() -> None:
    """What answers now."""
    names = wanted()
    if not names:
        return
    get_ready()
    with suppress(UserError, Unreadable):  # the loader has not begun
        for answer in [*answers(names), *wrappers.wrapped(names)]:
            answering_code.learn(answer)


def answers(names: Set[str]) -> list[Answering]:
    snapshot = this_snapshot.now()
    if notice.replacing(known := found(snapshot, names)):
        return answers(names)
    return [*known, *answering_code.seen(snapshot, names)]


def notice_all() -> ProcessSnapshot:
    """Whose code was put into slots and entries by now, of all functions? For who asks for layers and routes: what
    was seen, whose memory is read already. Who waits for such code hears of it: its library is no longer the program's,
    so a call that it passes on is none from the program."""
    snapshot = this_snapshot.now()
    with suppress(Unreadable):
        if notice.replacing(found(snapshot, snapshot.api_names)):
            return notice_all()
    look()
    return snapshot


def seen_now(snapshot: ProcessSnapshot) -> list[Answering]:
    """What slots and entries show of all functions, whoever waits for them or not."""
    with suppress(Unreadable):
        return found(snapshot, snapshot.api_names)
    return []
