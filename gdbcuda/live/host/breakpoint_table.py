"""gdb's own table of breakpoints, internal and momentary ones too, where gdb can print it.

A breakpoint of a thread that has ended stays in the table until gdb's next stop, whether gdb or the user has made it.
Who prints the table meanwhile, in a condition say, ends gdb: it looks for the thread by its number, and finds none.
Its rows can be counted then: gdb asks of each whether it is the one that is wanted, and prints none.
(gdb's breakpoint.c: breakpoint_1, print_one_breakpoint_location, remove_threaded_breakpoints, breakpoint_auto_delete.)
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import gdb

from gdbcuda.live.host import gdb_cli, inferiors

NOBODYS_NUMBER = -(1 << 31)


def listed() -> list[gdb.InferiorThread]:
    return [thread for one in gdb.inferiors() for thread in inferiors.threads(one)]


_threads = listed()  # that gdb held to be there at its last stop, and all since
_are_untold: list[bool] = []  # where anything is in it
_lasting: list[int] = []  # how many rows there are without a momentary one, where that is known
_asked = [0]
_stops = [0]


def on_new_thread(event: gdb.ThreadEvent) -> None:
    """(gdb 10 gives the inferior: there a thread is known from the next stop on.)"""
    given: Any = event.inferior_thread
    if isinstance(given, gdb.InferiorThread):
        _threads.append(given)
    else:
        _are_untold[:] = [True]


def on_stop(event: gdb.StopEvent) -> None:
    """gdb is about to delete what belongs to threads that have ended. (To list them may ask the far end of a link.)"""
    on_change()
    _stops[0] += 1
    _threads[:] = listed() if _are_untold else filter(gdb.InferiorThread.is_valid, _threads)


def stops() -> int:
    """How often gdb has deleted its momentary ones."""
    return _stops[0]


def on_change(event: object = None) -> None:
    """Rows that last may come and go, as with a library that is loaded."""
    _lasting.clear()


def is_printable() -> bool:
    return all(map(gdb.InferiorThread.is_valid, _threads))


def text() -> str | None:
    """For a condition that is asked, or where nothing can go on. None: gdb cannot print it before its next stop."""
    return gdb_cli.execute_where_nothing_goes_on("maintenance info breakpoints") if is_printable() else None


def count_what_lasts() -> None:
    """For `has_momentary`, where a call comes for the first time: gdb has none for its thread. As long as the table can
    be printed, one of another thread is seen in it, with the number 0; after that it may be counted too."""
    if not is_printable():
        _lasting[:] = [min(rows(), *_lasting)] if _lasting else [rows()]
    elif len(_threads) > 1 and not _lasting and not re.search(r"^0\s", text() or "0 ", re.MULTILINE):
        _lasting.append(rows())


def has_momentary() -> bool:
    """Does gdb have one that it has made for a step, a signal handler or the like? False where that is not known."""
    return bool(_lasting) and rows() > _lasting[0]


def rows() -> int:
    """Each is counted as often as gdb asks."""
    _asked[0] = 0
    with suppress(gdb.error):  # a language that calls no function so
        gdb_cli.execute_where_nothing_goes_on("maintenance info breakpoints $_cuda_no_number()")
    return _asked[0]


def no_number() -> int:
    """$_cuda_no_number(), which gdb asks at each row."""
    _asked[0] += 1
    return NOBODYS_NUMBER
