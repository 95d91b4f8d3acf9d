"""Breakpoints of ours that nobody waits for leave gdb's table, where they may: at a stop, and between commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import gdb

from gdbcuda.live.placing import silence
from gdbcuda.live.threads import children, positions

AtAddress = TypeVar("AtAddress", bound=gdb.Breakpoint)


def delete(known: dict[int, AtAddress], idle: Iterable[int]) -> None:
    """Those at the addresses ``idle`` go, as far as they may, and what gdb has deleted is forgotten. A child that is
    being made has them too; and where a thread is, gdb may have one of its own there, which would be alone then."""
    for at in [at for at, one in known.items() if not one.is_valid()]:
        del known[at]
    there = [at for at in idle if at in known]
    if not there or children.is_one_being_made():
        return
    going = [at for at in there if silence.may_go(at)]
    busy = positions.busy() if going else set()
    for at in going:
        if at not in busy:
            known.pop(at).delete()
