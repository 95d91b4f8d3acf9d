"""Who hears of which of gdb's events, and in which order: gdb calls the functions as they stand here.

What was known of objects and processes is forgotten before anybody asks for it again. (gdb manual: "Events In Python".)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

import gdb

from gdbcuda.live import breakpoints, process, process_events, welcome
from gdbcuda.live.breaking import answering_stops, recursion, saving
from gdbcuda.live.breakpoints import locations, ours, switched_off
from gdbcuda.live.dlsym import recursion_cause, request_log, request_stops
from gdbcuda.live.host import breakpoint_table, gdb_cli, inferiors, interrupts
from gdbcuda.live.host.lazily import if_loaded
from gdbcuda.live.noticing import answer_search, far_registers, hooks_without_names, notice
from gdbcuda.live.placing import loader_function, loader_watch, own_process, unloading
from gdbcuda.live.preloading import preload, presence
from gdbcuda.live.prompt import command, safely
from gdbcuda.live.stopping import backtrace, dying, null_calls, stops
from gdbcuda.live.stopping.returning import call_sites, returns, shown_calls
from gdbcuda.live.threads import arrivals, children, lent_registers

recursion.CAUSES.append(recursion_cause.text)
BETWEEN_COMMANDS = (
    unloading.sweep,
    call_sites.sweep,
    shown_calls.sweep,
    answering_stops.sweep,
    hooks_without_names.sweep,
    answer_search.sweep,
    if_loaded("guarding.guards", "on_prompt"),
)
HANDLERS: dict[str, tuple[Callable[..., Any], ...]] = {
    "new_objfile": (
        breakpoint_table.on_change,
        process.forget,
        switched_off.on_objfile,
        unloading.sweep,
        loader_watch.on_objfile,
        loader_function.on_objfile,
        presence.on_objfile,
        notice.on_objfile,
        answer_search.on_objfile,
        backtrace.on_objfile,
        if_loaded("guarding.guards", "on_objfile"),
        request_log.on_objects_change,
        recursion.apply,
        if_loaded("recording.call_log", "on_objfile"),
        inferiors.on_objfile,
    ),
    "clear_objfiles": (
        breakpoint_table.on_change,
        process.forget,
        backtrace.on_clear_objfiles,
        process_events.on_clear_objfiles,
        if_loaded("guard.launches", "put_back"),
    ),
    "free_objfile": (breakpoint_table.on_change, process.forget),
    "new_inferior": (breakpoint_table.on_change, inferiors.added),
    "new_thread": (
        breakpoint_table.on_new_thread,
        process_events.on_new_thread,
        if_loaded("guard.launches", "on_new_thread"),
        if_loaded("guarding.guards", "on_new_thread"),
    ),
    "exited": (
        if_loaded("patching.left_behind", "on_exit"),
        presence.on_exit,
        process_events.on_exit,
        if_loaded("recording.call_log", "on_exit"),
        if_loaded("running.together", "on_exit"),
        if_loaded("running.to_the_end", "on_exit"),
        if_loaded("guard.launches", "put_back"),
    ),
    "inferior_deleted": (process_events.on_inferior_deleted,),
    "cont": (
        returns.on_continue,
        if_loaded("guarding.guards", "on_continue"),
        if_loaded("recording.call_log", "on_continue"),
        if_loaded("running.together", "on_continue"),
        children.forget,
    ),
    "stop": (
        breakpoint_table.on_stop,
        process.on_stop,
        lent_registers.on_stop,
        arrivals.on_stop,
        if_loaded("recording.call_log", "before_stop"),
        children.forget,
        far_registers.on_stop,
        presence.on_stop,
        notice.on_stop,
        backtrace.on_stop,
        stops.on_stop,
        request_stops.on_stop,
        recursion.on_stop,
        null_calls.on_stop,
        unloading.sweep,
        if_loaded("recording.call_log", "on_stop"),
        returns.on_stop,
        call_sites.sweep,
        shown_calls.sweep,
        answering_stops.sweep,
        hooks_without_names.sweep,
        answer_search.sweep,
        if_loaded("guarding.guards", "on_stop"),
        switched_off.on_stop,
        dying.on_stop,
        if_loaded("running.together", "on_stop"),
        if_loaded("running.to_the_end", "on_stop"),
        ours.on_stop,
    ),
    "before_prompt": (
        gdb_cli.catch_up,
        welcome.on_prompt,
        preload.on_prompt,
        saving.after,
        *BETWEEN_COMMANDS,
    ),
    "inferior_call": (if_loaded("guarding.guards", "on_call"),),
    "breakpoint_created": (
        breakpoint_table.on_change,
        breakpoints.on_created,
        if_loaded("guarding.breakpoint_events", "on_created"),
    ),
    "breakpoint_modified": (
        own_process.on_modified,
        switched_off.on_modified,
        stops.on_modified,
        saving.on_modified,
        breakpoints.on_modified,
        ours.on_modified,
        call_sites.on_breakpoint_modified,
        answering_stops.on_modified,
        if_loaded("guarding.breakpoint_events", "on_modified"),
    ),
    "breakpoint_deleted": (
        breakpoint_table.on_change,
        own_process.on_deleted,
        ours.on_deleted,
    ),
    "gdb_exiting": (if_loaded("guarding.without_gdb", "on_exiting"), locations.on_exiting),
}
SINCE_GDB_12 = ("free_objfile", "gdb_exiting")
AFTER_COMMANDS = ("before_prompt",)  # the breakpoint's own commands have run: others may be executed
_connected: dict[str, dict[Callable[..., Any], Callable[..., None]]] = {}


def connect() -> None:
    command.BEFORE_EACH.append(interrupts.all_of([safely.contained(one) for one in BETWEEN_COMMANDS]))
    for name, handlers in HANDLERS.items():
        if name in SINCE_GDB_12 and not hasattr(gdb.events, name):
            continue
        _connected[name] = {handler: safely.contained(handler) for handler in handlers}
        heard = _connected[name].values()
        one = interrupts.all_of(heard) if name in AFTER_COMMANDS else without_commands(name, heard)
        getattr(gdb.events, name).connect(one)


def without_commands(name: str, handlers: Iterable[Callable[..., None]]) -> Callable[..., None]:
    """One handler for gdb, with its commands out of reach."""

    def heard(*event: Any) -> None:
        gdb_cli.begin_event(name)
        try:
            for handler in handlers:
                handler(*event)
        finally:
            gdb_cli.end_event()

    return interrupts.uninterrupted(heard)


def disconnect(name: str, handler: Callable[..., Any]) -> None:
    """For measurements: as if it did not listen."""
    del _connected[name][handler]
