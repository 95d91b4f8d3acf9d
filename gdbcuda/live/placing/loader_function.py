"""Where the loader says that its list changes, for a gdb that does not read its symbols (``set auto-solib-add off``).

gdb tells of no library then, and finds no name in one: the address is in the loader's own table. It is where gdb's own
breakpoint is, so no thread stops once more.
(gdb's solib-svr4.c: enable_break; symfile-mem.c: what the kernel maps is told when the loader is about to begin.)
"""

from __future__ import annotations

from contextlib import suppress

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.linkage import image
from gdbcuda.live import process
from gdbcuda.live.host import inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import loader_watch, own_process, unloading

NAME = "_dl_debug_state"


class LoaderFunction(own_process.Internal):
    sees_all_calls = False

    def stop(self) -> bool:
        process.forget()  # no event has told of what has come
        loader_watch.changed()
        if not loader_watch.is_any_wanted():
            take_back()
        return False


PLACED: PerInferior[list[LoaderFunction]] = PerInferior(list)


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    """The program's in an exec, else the kernel's. Not that of a child which gdb is about to follow."""
    selected = gdb.selected_inferior()
    if loader_watch.is_any_wanted() and selected.pid and selected in inferiors.in_space(event.new_objfile.progspace):
        with suppress(gdb.error):  # behind gdbserver the thread is taken for running in an exec: the next tells
            place()


def place() -> None:
    """Once in each process. Nothing where gdb reads the loader's symbols, or there is no loader."""
    if gdb.parameter("auto-solib-add") or PLACED() or process.connection() == "core":
        return
    address = address_of(process.auxiliary().get("AT_BASE", 0))
    if address is not None:
        PLACED().append(LoaderFunction(address))


def address_of(loader: int) -> int | None:
    with suppress(Unreadable):
        found = image.object_at(process.InferiorMemory(), loader).lookup(NAME) if loader else None
        return found.address if found is not None else None
    return None


def take_back() -> None:
    for one in PLACED():
        unloading.put_away(one)
    PLACED().clear()
