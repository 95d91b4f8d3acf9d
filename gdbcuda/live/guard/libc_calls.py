"""Looks on where a program is about to call one of libc's functions. (Past libc: `own_clones`.)"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Callable

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.linkage.image import LoadedSymbol
from gdbcuda.live import process
from gdbcuda.live.guard.launches import KernelCall
from gdbcuda.live.guard.watch import Watch
from gdbcuda.live.placing import link, silence
from gdbcuda.machine.x86.x86_syscalls import SYS_EXECVE, SYS_EXECVEAT, SYS_EXIT, SYS_EXIT_GROUP

ARGUMENTS = ("rdi", "rsi", "rdx")  # (SysV ABI, x86-64 supplement 3.2.3)
Wanted = Callable[[int, int, int], bool]  # of the first three arguments
Notice = Callable[[], None]
Wish = tuple[Wanted, Notice]
MOST_IN_VAIN = 256
# Behind the handlers of exit, and of quick_exit, and where the last thread has ended.
LAST: dict[str, Wanted] = {
    "_exit": lambda first, second, third: True,
    "syscall": lambda number, second, third: number in (SYS_EXIT, SYS_EXIT_GROUP),
}
# In front of another program in the same process. (All of libc's others call the first; what fails comes by again.)
EXEC: dict[str, Wanted] = {
    **dict.fromkeys(("execve", "fexecve", "execveat"), lambda first, second, third: True),
    "syscall": lambda number, second, third: number in (SYS_EXECVE, SYS_EXECVEAT),
}


class LibcCall(KernelCall):
    """At one of the functions. ``wishes``: which calls are wanted, and who hears of them. ``rare``: none may ever come,
    and thousands of others: after so many in vain it is silent up to the next stop."""

    def __init__(self, address: int, wishes: Sequence[Wish], rare: bool) -> None:
        super().__init__(address, self.see)
        self.wishes, self.rare, self.in_vain = wishes, rare, 0

    def see(self) -> None:
        with suppress(Unreadable, gdb.error):
            words = self.words()
            wanted = [notice for is_wanted, notice in self.wishes if is_wanted(*words)]
            for notice in wanted:
                notice()
            if self.rare and not wanted:
                self.fall_silent()

    def words(self) -> list[int]:
        return [*map(process.register, ARGUMENTS)]

    def fall_silent(self) -> None:
        self.in_vain += 1
        is_enough = self.in_vain >= MOST_IN_VAIN and silence.is_power_of_two(self.in_vain)
        if is_enough and silence.silence(self.address):
            self.in_vain = 0


def watches(*wanted: tuple[dict[str, Wanted], Notice], rare: bool = False) -> list[Watch]:
    """Each notice is called in front of a wanted call of one of its functions; one breakpoint a function. With ``rare``
    libc's `syscall`, which many programs use for other things, is not watched for ever."""
    found: dict[int, list[Wish]] = {}
    rarely = {symbol.address for symbol in definitions("syscall")} if rare else set()
    for ways, notice in wanted:
        for name, is_wanted in ways.items():
            for symbol in definitions(name):
                found.setdefault(symbol.address, []).append((is_wanted, notice))
    return [LibcCall(address, wishes, address in rarely) for address, wishes in found.items()]


def definitions(name: str) -> list[LoadedSymbol]:
    """While NVIDIA's driver starts, cuda-gdb may wait for ever where one of its threads is at libc's `syscall` and
    another at a breakpoint of cuda-gdb's own: not watched there."""
    if name == "syscall" and link.is_cuda_gdb():
        return []
    return [symbol for one in process.images() if (symbol := one.lookup(name)) is not None]
