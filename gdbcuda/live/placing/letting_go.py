"""gdb lets the process go, and takes its breakpoints out of it, but not out of a child that it has not heard of yet.

Such a child has what was in the process at its fork, and would end at the first breakpoint that it meets.
(gdb's linux-nat.c: detach_one_lwp; remote.c: remote_detach_1.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Callable, TypeVar

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import breakpoint_table, console, inferiors
from gdbcuda.live.placing import inserted
from gdbcuda.live.prompt import user_hooks
from gdbcuda.live.threads import children, held_still

Known = TypeVar("Known")
IS_END_TOLD = hasattr(gdb.events, "gdb_exiting")  # gdb 12
BEFORE: list[Callable[[], None]] = []  # what else is taken back then


def is_told_late() -> bool:
    """Then what has to be done before it goes is done at each stop: of its end an old gdb does not tell, nor of MI's
    -target-detach any."""
    return not IS_END_TOLD or console.is_machine_interface()


def may_leave_children() -> bool:
    """At this stop, and nobody will hear of it before."""
    return is_told_late() and process.is_alive() and not process.is_running() and bool(children.waiting())


def watch() -> None:
    """gdb has no event in front of its commands."""
    user_hooks.add_condition("hook-detach", "_cuda_take_back")
    for hook in ("detach hook-inferiors", "hook-disconnect"):
        user_hooks.add_condition(hook, "_cuda_take_all_back")


def let_this_go() -> None:
    let_go()
    take_each_out(in_table())


def take_each_out(addresses: Collection[int]) -> None:
    """Breakpoints that stay in it gdb takes out up to the first that a gdbserver does not know any more, for the
    program has written over it or a child that shares its memory had it. (gdb's remove_breakpoints_inf.)"""
    if process.is_remote() and process.is_alive() and not process.is_running() and inserted.stay():
        process.take_out_here(addresses)


def let_go_all() -> None:
    """A hook does not hear what is typed behind its command. Who stays after all is as before when he goes on."""
    for _ in standing():
        let_this_go()


def standing() -> Iterator[None]:
    """Each process that does, selected."""
    for _ in living():
        if not process.is_running():
            yield


def living() -> Iterator[None]:
    for one in gdb.inferiors():
        with inferiors.selected(one):
            if gdb.selected_inferior().num == one.num and process.is_alive():
                yield


def held(known: Callable[[], Known]) -> Iterator[Known]:
    """As gdb ends: each process that it takes for running and lets go, selected, its threads standing still meanwhile.
    (What gdb has started it kills.) Nothing is asked of gdb then but what it knows: gdb 13, ended by SIGTERM, goes on
    to its end wherever it looks for a Ctrl-C, and nothing would go on here. (gdb's utils.c: maybe_quit.) ``known``:
    what has to be asked of it, before."""
    for _ in living():
        if process.is_running() and gdb.selected_inferior().was_attached and process.connection() == "native":
            found = known()
            with held_still.held_still() as are_still:
                if are_still:
                    yield found


def on_exiting(event: object) -> None:
    """Python's objects of connections never go. gdb 13 aborts where one does before the connection: SIGTERM ends it a
    second time while it lets the process go. (gdb's py-connection.c: connpy_connection_dealloc.)"""
    if any(process.is_running() for _ in living()):
        import ctypes  # loaded when first used

        for one in gdb.connections():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def let_go() -> None:
    for take_back in BEFORE:
        take_back()
    if process.is_alive() and not process.is_running() and children.waiting():
        for address in in_table():
            children.take_out(address)


def in_table() -> set[int]:
    """(At a stop no thread has ended since.)"""
    table = breakpoint_table.text() or ""
    return {int(at, 16) for at in re.findall(r"^-?\d.*?\b(0x[0-9a-f]{8,})", table, re.MULTILINE)}
