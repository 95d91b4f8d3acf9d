"""Children that share the program's memory, made past libc by a ``syscall`` instruction of its own.

The breakpoint is on the instruction in front: before 14 gdb does not step a thread over a system call that makes
another thread. What that instruction loads is not there yet; a child of which the flags are not known counts as one.
(gdb's infrun.c, linux-nat.c; clone(2).)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import gdb

from gdbcuda.data_classes import dataclass
from gdbcuda.elf.code.x86_read import Instruction
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.guard import forks
from gdbcuda.live.guard.libc_calls import LibcCall, Wish
from gdbcuda.live.patching import detours
from gdbcuda.live.threads import call_registers
from gdbcuda.machine.x86 import x86_syscalls
from gdbcuda.machine.x86.x86_stack import is_written
from gdbcuda.machine.x86.x86_syscalls import CLONING, NEAR, SYSCALL
from gdbcuda.machine.x86.x86_write import RDI

SHARING = forks.SYS_CLONE, forks.CLONE_VM, 0


@dataclass(frozen=True)
class Cloning:
    """``front``: the instruction before; ``number``, ``first``: what is in rax and rdi at the call, None for what is
    there at the front already; ``is_known``: that can be said of rdi."""

    address: int
    front: int
    number: int | None
    first: int | None
    is_known: bool


class OwnClone(LibcCall):
    """In front of such a call. Other calls come there too, perhaps by thousands: then it is silent for a while."""

    def __init__(self, call: Cloning, wish: Wish) -> None:
        super().__init__(call.front, [wish], rare=True)
        self.call = call

    def words(self) -> list[int]:
        call = self.call
        if not call.is_known:
            return [*SHARING]
        number = process.register("rax") if call.number is None else call.number
        return [number, process.register("rdi") if call.first is None else call.first, 0]

    def see(self) -> None:
        super().see()
        with suppress(gdb.error):
            forks.stay_in_front(call_registers.thread_number(), range(self.call.front, self.call.address + 1))


def of_instructions(addresses: Iterable[int]) -> Iterator[Cloning]:
    for address in addresses:
        found = cloning(address, in_front(address))
        if found is not None and (found.number is not None or is_in_function(address)):
            yield found


def is_in_function(address: int) -> bool:
    """Behind its end there may be numbers of a table that look like code, which is not to be changed."""
    function = process.function_start(address)
    return function is not None and address < function + detours.function_size(function)


def in_front(address: int) -> list[Instruction]:
    """The instructions in front of it, as far as they are known."""
    code, offset = detours.function_up_to(address)
    found = x86_syscalls.in_front(code, offset) if code else None
    if found is None:
        with suppress(Unreadable):
            near = process.original_code(address - NEAR, NEAR + len(SYSCALL))
            found = x86_syscalls.behind_number(CLONING, near, NEAR)
    return found or []


def cloning(address: int, before: list[Instruction]) -> Cloning | None:
    if not before:
        return None
    last = before[-1]
    first = x86_syscalls.loaded(last.raw, RDI)
    is_known = first is not None or not is_written(last.raw, RDI)
    return Cloning(address, address - len(last.raw), x86_syscalls.number(before), first, is_known)
