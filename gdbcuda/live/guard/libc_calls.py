"""Looks on where a program is about to call one of libc's functions. Who makes the system call himself is not seen."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Callable

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.linkage.image import LoadedSymbol
from gdbcuda.live import process
from gdbcuda.live.guard.watch import Watch

ARGUMENTS = ("rdi", "rsi", "rdx")  # (SysV ABI, x86-64 supplement 3.2.3)
Wanted = Callable[[int, int, int], bool]  # of the first three arguments
SYS_EXIT, SYS_EXIT_GROUP = 60, 231  # (asm/unistd_64.h)
# Behind the handlers of exit, and of quick_exit, and where the last thread has ended.
LAST: dict[str, Wanted] = {
    "_exit": lambda first, second, third: True,
    "syscall": lambda number, second, third: number in (SYS_EXIT, SYS_EXIT_GROUP),
}


def watches(ways: dict[str, Wanted], notice: Callable[[], None]) -> list[Watch]:
    """``notice`` is called in front of a wanted call of one of the functions."""

    def look(is_wanted: Wanted) -> None:
        with suppress(Unreadable, gdb.error):
            if is_wanted(*map(process.register, ARGUMENTS)):
                notice()

    found = {symbol.address: is_wanted for name, is_wanted in ways.items() for symbol in definitions(name)}
    return [Watch(address, functools.partial(look, is_wanted)) for address, is_wanted in found.items()]


def definitions(name: str) -> list[LoadedSymbol]:
    return [symbol for one in process.images() if (symbol := one.lookup(name)) is not None]
