"""The only room with ``import gdb``. ``start()`` registers everything and connects all events, nowhere else."""

from __future__ import annotations

import importlib
import pkgutil

import gdb


def start() -> None:
    from gdbcuda.live.later import load_later

    load_later()
    from gdbcuda.live import backtrace, commands, console, functions, settings  # noqa: F401  (functions register)

    settings.register()
    backtrace.register()
    for module in pkgutil.iter_modules(commands.__path__):
        importlib.import_module(f"gdbcuda.live.commands.{module.name}")
    connect()
    console.keep_internal_breakpoints_out()
    console.keep_internal_hits_out()


def sourced_again() -> None:
    from gdbcuda.live import welcome

    if not welcome.is_starting():  # before, it is the user's own files that source it, one by one
        gdb.write("gdbcuda is already loaded; for another one start gdb again.\n")


def connect() -> None:
    from gdbcuda.live import (
        asking,
        breakpoints,
        confined,
        inferiors,
        notice,
        preload,
        recursion,
        requests,
        returns,
        saving,
        stops,
        target,
        welcome,
    )
    from gdbcuda.live.later import if_loaded

    events = gdb.events
    events.new_objfile.connect(target.forget)
    events.new_objfile.connect(preload.on_objfile)
    events.new_objfile.connect(notice.on_objfile)
    events.new_objfile.connect(if_loaded("guards", "on_objfile"))
    events.new_objfile.connect(requests.on_objects_change)
    events.new_objfile.connect(recursion.apply)
    events.new_objfile.connect(if_loaded("recording", "on_objfile"))
    events.clear_objfiles.connect(target.forget)
    if hasattr(events, "free_objfile"):  # gdb 12
        events.free_objfile.connect(target.forget)
    events.clear_objfiles.connect(executed)
    events.new_objfile.connect(inferiors.on_objfile)
    events.new_inferior.connect(inferiors.added)
    events.new_thread.connect(started)
    events.exited.connect(preload.on_exit)
    events.exited.connect(ended)
    events.inferior_deleted.connect(removed)
    events.exited.connect(if_loaded("recording", "on_exit"))
    events.cont.connect(returns.on_continue)
    events.cont.connect(if_loaded("guards", "on_continue"))
    events.stop.connect(target.on_stop)
    events.stop.connect(preload.on_stop)
    events.stop.connect(notice.on_stop)
    events.stop.connect(stops.on_stop)
    events.stop.connect(asking.on_stop)
    events.stop.connect(recursion.on_stop)
    events.stop.connect(if_loaded("recording", "on_stop"))
    events.stop.connect(returns.on_stop)
    events.stop.connect(returns.sweep)
    events.stop.connect(if_loaded("guards", "on_stop"))
    events.before_prompt.connect(welcome.on_prompt)
    events.before_prompt.connect(preload.on_prompt)
    events.before_prompt.connect(saving.after)
    events.before_prompt.connect(returns.sweep)
    events.before_prompt.connect(if_loaded("guards", "on_prompt"))
    events.inferior_call.connect(if_loaded("guards", "on_call"))
    events.breakpoint_modified.connect(confined.on_modified)
    events.breakpoint_modified.connect(saving.on_modified)
    events.breakpoint_modified.connect(breakpoints.on_modified)
    events.breakpoint_modified.connect(returns.on_breakpoint_modified)
    events.breakpoint_modified.connect(if_loaded("guards", "on_modified"))
    events.breakpoint_created.connect(breakpoints.on_created)
    events.breakpoint_created.connect(if_loaded("guards", "on_created"))
    events.breakpoint_deleted.connect(confined.on_deleted)
    events.breakpoint_deleted.connect(breakpoints.on_deleted)
    events.breakpoint_deleted.connect(if_loaded("guards", "on_deleted"))
    events.breakpoint_deleted.connect(returns.on_breakpoint_deleted)
    if hasattr(events, "gdb_exiting"):  # gdb 12
        events.gdb_exiting.connect(if_loaded("guards", "take_all_back"))
    saving.watch_save()


def ended(event: gdb.ExitedEvent) -> None:
    """Exited, killed, or detached from: for gdb the process is no more."""
    from gdbcuda.live import inferiors

    inferiors.end_process(event.inferior)
    forget_process()
    inferiors.forget_ended(event.inferior.num)


def removed(event: gdb.InferiorDeletedEvent) -> None:
    from gdbcuda.live import inferiors

    inferiors.end_process(event.inferior)
    inferiors.forget_all(event.inferior.num)


def forget_process() -> None:
    """What is not kept by inferior yet, and whatever was read from the objects of the process."""
    from gdbcuda.live import target

    target.forget()


def new_process(inferior: gdb.Inferior) -> None:
    from gdbcuda.live import confined, inferiors, stops
    from gdbcuda.live.later import if_loaded

    forget_process()
    inferiors.forget_all(inferior.num)
    if not confined.CAN_CONFINE and not inferiors.is_forked(inferior):  # gdb 10 is in the middle of it
        for other in gdb.inferiors():
            inferiors.forget_ended(other.num)
    stops.new_process()
    if_loaded("guards", "on_process")(inferior)


def started(event: gdb.ThreadEvent) -> None:
    """The first thread of a process. (gdb adds the leader of a dying process a second time: that is no new one.)"""
    from gdbcuda.live import inferiors

    thread = event.inferior_thread
    inferior = getattr(thread, "inferior", thread)  # gdb 10 gives the inferior itself
    if len(inferior.threads()) <= 1 and inferiors.begin_process(inferior):
        new_process(inferior)


def executed(event: gdb.ClearObjFilesEvent) -> None:
    """gdb has no event for exec, but it takes the old program's symbols away: from now on it is another process."""
    from gdbcuda.live import inferiors, preload

    for inferior in inferiors.have_executed(event.progspace):
        new_process(inferior)
        preload.on_exec(inferior)
