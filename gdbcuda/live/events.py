"""Who hears of which of gdb's events, and in which order: gdb calls the functions as they stand here.

What was known of objects and processes is forgotten before anybody asks for it again. Modules run at the first event
that is more than the prompt (`begin`). What has a ``?`` hears of it only where somebody has used its module.
(gdb manual: "Events In Python".)
"""

from __future__ import annotations

from typing import Any, Callable

import gdb

from gdbcuda.live.host import beginning, gdb_cli, interrupts
from gdbcuda.live.host.lazily import if_loaded, named
from gdbcuda.live.prompt import command, safely

Handlers = dict[Callable[..., Any], Callable[..., None]]

BETWEEN_COMMANDS = (
    "placing.held_places.catch_up",
    "threads.killed.sweep?",
    "placing.unloading.sweep?",
    "stopping.returning.call_sites.sweep?",
    "stopping.returning.shown_calls.sweep?",
    "breaking.answering_stops.sweep?",
    "noticing.hooks_without_names.sweep?",
    "noticing.answer_search.sweep?",
    "guarding.guards.on_prompt?",
)
HANDLERS: dict[str, tuple[str, ...]] = {
    "new_objfile": (
        "placing.held_places.on_change",
        "host.breakpoint_table.on_change",
        "process.forget",
        "breakpoints.switched_off.on_objfile",
        "placing.unloading.sweep",
        "placing.loader_watch.on_objfile",
        "placing.loader_function.on_objfile",
        "preloading.presence.on_objfile",
        "noticing.notice.on_objfile",
        "noticing.answer_search.on_objfile",
        "stopping.backtrace.on_objfile",
        "guarding.guards.on_objfile?",
        "dlsym.request_log.on_objects_change",
        "breaking.recursion.apply",
        "recording.call_log.on_objfile?",
        "host.inferiors.on_objfile",
    ),
    "clear_objfiles": (
        "placing.held_places.on_change",
        "host.breakpoint_table.on_change",
        "process.forget",
        "stopping.backtrace.on_clear_objfiles",
        "process_events.on_clear_objfiles",
        "guard.launches.put_back?",
    ),
    "free_objfile": ("placing.held_places.on_change", "host.breakpoint_table.on_change", "process.forget"),
    "new_inferior": ("host.breakpoint_table.on_change", "host.inferiors.added"),
    "new_thread": (
        "placing.held_places.on_change",
        "host.breakpoint_table.on_new_thread",
        "process_events.on_new_thread",
        "preloading.main_thread.on_new_thread",
        "guard.launches.on_new_thread?",
        "guarding.guards.on_new_thread?",
        "recording.call_log.on_new_thread?",
    ),
    "exited": (
        "patching.left_behind.on_exit?",
        "preloading.presence.on_exit",
        "process_events.on_exit",
        "preloading.main_thread.on_exit",
        "recording.call_log.on_exit?",
        "running.together.on_exit?",
        "running.to_the_end.on_exit?",
        "guard.launches.put_back?",
    ),
    "inferior_deleted": ("process_events.on_inferior_deleted",),
    "cont": (
        "stopping.returning.returns.on_continue",
        "guarding.guards.on_continue?",
        "recording.call_log.on_continue?",
        "running.together.on_continue?",
        "threads.children.forget",
    ),
    "stop": (
        "host.breakpoint_table.on_stop",
        "process.on_stop",
        "placing.held_places.catch_up",
        "threads.lent_registers.on_stop",
        "threads.arrivals.on_stop",
        "recording.call_log.before_stop?",
        "threads.children.forget",
        "noticing.far_registers.on_stop",
        "preloading.presence.on_stop",
        "preloading.main_thread.on_stop",
        "noticing.notice.on_stop",
        "stopping.backtrace.on_stop",
        "stopping.stops.on_stop",
        "dlsym.request_stops.on_stop",
        "breaking.recursion.on_stop",
        "stopping.null_calls.on_stop",
        "placing.unloading.sweep",
        "recording.call_log.on_stop?",
        "stopping.returning.returns.on_stop",
        "stopping.returning.call_sites.sweep",
        "stopping.returning.shown_calls.sweep",
        "breaking.answering_stops.sweep",
        "noticing.hooks_without_names.sweep",
        "noticing.answer_search.sweep",
        "guarding.guards.on_stop?",
        "breakpoints.switched_off.on_stop",
        "stopping.dying.on_stop",
        "running.together.on_stop?",
        "running.to_the_end.on_stop?",
        "breakpoints.ours.on_stop",
    ),
    "before_prompt": (
        "host.gdb_cli.catch_up",
        "welcome.on_prompt",
        "preloading.preload.on_prompt?",
        "breaking.saving.after?",
        *BETWEEN_COMMANDS,
    ),
    "inferior_call": ("guarding.guards.on_call?",),
    "breakpoint_created": (
        "placing.held_places.on_created",
        "host.breakpoint_table.on_change",
        "breakpoints.on_created",
        "guarding.breakpoint_events.on_created?",
    ),
    "breakpoint_modified": (
        "placing.own_process.on_modified",
        "breakpoints.switched_off.on_modified",
        "stopping.stops.on_modified",
        "breaking.saving.on_modified",
        "breakpoints.on_modified",
        "breakpoints.ours.on_modified",
        "stopping.returning.call_sites.on_breakpoint_modified",
        "breaking.answering_stops.on_modified",
        "guarding.breakpoint_events.on_modified?",
        "placing.held_places.on_modified",
    ),
    "breakpoint_deleted": (
        "host.breakpoint_table.on_change",
        "placing.own_process.on_deleted",
        "breakpoints.ours.on_deleted",
        "placing.held_places.on_deleted",
    ),
    "gdb_exiting": (
        "recording.call_log.on_exiting?",
        "guarding.without_gdb.on_exiting?",
        "breakpoints.locations.on_exiting?",
        "placing.letting_go.on_exiting",
    ),
}
SINCE_GDB_12 = ("free_objfile", "gdb_exiting")
AFTER_COMMANDS = ("before_prompt",)  # the breakpoint's own commands have run: others may be executed
OF_THE_END = ("gdb_exiting",)
OF_GDB_ALONE = ("before_prompt", *OF_THE_END)  # they come where there is nothing else, too
_connected: dict[str, Handlers] = {}


def connect() -> None:
    beginning.ON_BEGIN.append(begin)
    command.BEFORE_EACH.append(beginning.begin)
    command.BEFORE_EACH.append(interrupts.all_of([safely.contained(handler(one)) for one in BETWEEN_COMMANDS]))
    for name in HANDLERS:
        if name not in SINCE_GDB_12 or hasattr(gdb.events, name):
            whole = interrupts.unheard if name in OF_THE_END else interrupts.uninterrupted
            getattr(gdb.events, name).connect(whole(heard(name)))
    if any(one.pid for one in gdb.inferiors()):
        beginning.begin()


def begin() -> None:
    """All that hears of events is there before anything happens: others tell it of what they do."""
    from gdbcuda.live.books import adapters
    from gdbcuda.live.breaking import recursion
    from gdbcuda.live.dlsym import recursion_cause, request_log
    from gdbcuda.live.layers import names
    from gdbcuda.live.noticing import answer_search, hooks_without_names
    from gdbcuda.live.stopping import backtrace

    for name in HANDLERS:
        handlers(name)
    recursion.CAUSES.append(recursion_cause.text)
    # The first reads a hook's symbols in one block; the other looks names up, which would read them page by page.
    answer_search.ON_LOOK.extend((hooks_without_names.plant, request_log.plant))
    names.OF_AUTHORS.append(lambda: adapters.internal_functions())
    backtrace.on_load()


def handlers(name: str) -> Handlers:
    if name not in _connected:
        _connected[name] = {one: safely.contained(one) for one in map(handler, HANDLERS[name])}
    return _connected[name]


def handler(name: str) -> Callable[..., Any]:
    module, _, function = name.rstrip("?").rpartition(".")
    return if_loaded(module, function) if name.endswith("?") else named(module, function)


def heard(name: str) -> Callable[..., None]:
    """One handler for gdb."""

    def all_of_them(*event: Any) -> None:
        if name not in OF_GDB_ALONE:
            beginning.begin()
        for one in handlers(name).values():
            one(*event)

    whole = all_of_them if name in AFTER_COMMANDS else without_commands(name, all_of_them)

    def now_or_later(*event: Any) -> None:
        if not beginning.put_off(lambda: whole(*event)):
            whole(*event)

    return now_or_later


def without_commands(name: str, handler: Callable[..., None]) -> Callable[..., None]:
    """With gdb's commands out of reach."""

    def alone(*event: Any) -> None:
        gdb_cli.begin_event(name)
        try:
            handler(*event)
        finally:
            gdb_cli.end_event()

    return alone


def disconnect(name: str, handler: Callable[..., Any]) -> None:
    """For measurements: as if it did not listen."""
    beginning.begin()
    del _connected[name][handler]
