"""What is loaded gets its guards, what is unloaded loses them."""

from __future__ import annotations

import gdb

from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.guard.watch import trash
from gdbcuda.live.guarding.by_process import PROCESSES, Guarded, look_again, waiting
from gdbcuda.live.guarding.making import look_out_past_libc, remove
from gdbcuda.live.guarding.own_syscalls import reason as past_libc
from gdbcuda.live.guarding.renewing import renew
from gdbcuda.live.patching import trampoline_space
from gdbcuda.live.placing import loader_watch
from gdbcuda.live.prompt import settings


def on_loaded() -> None:
    state = PROCESSES()
    forget_unloaded(state)
    for guard in state.guards.values():
        guard.veil()
    if state.fresh:
        for guard in list(state.guards.values()):
            filters = ours.filters(guard.members)
            if any(one.names_callers for one in filters) or (any(one.asks_kernel for one in filters) and past_libc()):
                look_again(guard.members)
                remove(guard)
    if state.guards and state.fresh:
        look_out_past_libc()
    renew(waiting())
    state.fresh.clear()


def forget_unloaded(state: Guarded) -> None:
    """What was written into an object has gone with it. (gdb 10 has no event for that.) gdb's own list is asked, which
    it has just read: ours would be read anew, packet by packet."""
    for function, guard in list(state.guards.items()):
        if not gdb.solib_name(function) and not process.in_program(function):
            process.forget()
            del state.guards[function]
            look_again(guard.members)
            guard.forget()
            trampoline_space.take_back(guard.detour.island, guard.trampoline)
            if guard.detour.island is not None:
                process.PATCHED().pop(guard.detour.island[0])


def watch_or_not() -> None:
    if ours.is_any_filtered() and settings.value("cuda-guard") != "off":
        loader_watch.want(on_loaded)
    else:
        trash.extend(loader_watch.unwant(on_loaded))
