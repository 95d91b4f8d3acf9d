"""``breakpoint always-inserted``: breakpoints stay in the process while it stands, for as long as somebody needs that.

A guard needs it, for what gdb puts in and takes out at each stop would overwrite what others have written there. A
recorder over a slow link needs it, for gdb would send two thousand breakpoints at each stop.
(gdb manual: "Set Breaks".)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli

SETTING = "breakpoint always-inserted"
_owners: set[str] = set()
_ours: list[bool] = []  # it was off before
_going_on: list[bool] = []
_stay: list[bool] = []  # until the process goes on: what was put in when they were to stay


def keep(owner: str) -> None:
    if owner not in _owners:
        _owners.add(owner)
        gdb_cli.when_possible(settle)


def release(owner: str) -> None:
    if owner in _owners:
        _owners.remove(owner)
        gdb_cli.when_possible(settle)


def settle() -> None:
    if _owners and not always():
        gdb_cli.execute(f"set {SETTING} on")
        _ours.append(True)
        if not process.is_remote():  # over a link each is a packet
            put_in()
    elif _ours and not _owners:
        _ours.clear()
        _stay.append(True)
        gdb_cli.execute(f"set {SETTING} off")


def put_in() -> None:
    """gdb does when it goes over its breakpoints the next time: `now` is to be true before. (One of ours comes and goes
    for that: to enable one of the user's would end his ``enable count``.)"""
    start = process.auxiliary().get("AT_ENTRY") if process.is_alive() else None
    if start:
        with suppress(gdb.error):
            gdb.Breakpoint(f"*{start:#x}", internal=True).delete()


def always() -> bool:
    return bool(gdb.parameter(SETTING))


def now() -> bool:
    """Are they in the process at this moment?"""
    return always() or (not _going_on and process.is_thread_running())


def stay() -> bool:
    """Are they in the process though it stands?"""
    return always() or bool(_stay)


@contextmanager
def going_on() -> Iterator[None]:
    """gdb tells that the process goes on: its threads are running already, and the breakpoints are yet to come."""
    _stay.clear()
    _going_on.append(True)
    try:
        yield
    finally:
        _going_on.pop()
