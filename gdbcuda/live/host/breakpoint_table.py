"""gdb's own table of breakpoints, internal and momentary ones too, where gdb can print it.

A breakpoint of a thread that has ended stays in the table until gdb's next stop, whether gdb or the user has made it.
Who prints the table meanwhile, in a condition say, ends gdb: it looks for the thread by its number, and finds none.
(gdb's breakpoint.c: print_one_breakpoint_location, remove_threaded_breakpoints, breakpoint_auto_delete.)
"""

from __future__ import annotations

from typing import Any

import gdb

from gdbcuda.live.host import gdb_cli, inferiors


def listed() -> list[gdb.InferiorThread]:
    return [thread for one in gdb.inferiors() for thread in inferiors.threads(one)]


_threads = listed()  # that gdb held to be there at its last stop, and all since
_are_untold: list[bool] = []  # where anything is in it


def on_new_thread(event: gdb.ThreadEvent) -> None:
    """(gdb 10 gives the inferior: there a thread is known from the next stop on.)"""
    given: Any = event.inferior_thread
    if isinstance(given, gdb.InferiorThread):
        _threads.append(given)
    else:
        _are_untold[:] = [True]


def on_stop(event: gdb.StopEvent) -> None:
    """gdb is about to delete what belongs to threads that have ended. (To list them may ask the far end of a link.)"""
    _threads[:] = listed() if _are_untold else filter(gdb.InferiorThread.is_valid, _threads)


def text() -> str | None:
    """For a condition that is asked, or where nothing can go on. None: gdb cannot print it before its next stop."""
    if not all(map(gdb.InferiorThread.is_valid, _threads)):
        return None
    return gdb_cli.execute_where_nothing_goes_on("maintenance info breakpoints")
