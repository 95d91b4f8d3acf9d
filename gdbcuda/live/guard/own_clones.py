"""Children that share the program's memory, made past libc by a ``syscall`` instruction of its own.

The breakpoint is on the instruction in front: before 14 gdb does not step a thread over a system call that makes
another thread. What that instruction loads is told by what it says; where that cannot be, a call counts as one that
makes such a child. Many programs make all their calls by one such instruction, as Go's do. (gdb's infrun.c,
linux-nat.c; clone(2).)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

import gdb

from gdbcuda.data_classes import dataclass
from gdbcuda.elf.code.x86_read import Instruction
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.guard import forks
from gdbcuda.live.guard.libc_calls import LibcCall, Wish
from gdbcuda.live.patching import detours
from gdbcuda.live.threads import call_registers
from gdbcuda.machine.x86 import x86_moves, x86_syscalls
from gdbcuda.machine.x86.x86_syscalls import CLONING, NEAR, SYSCALL
from gdbcuda.machine.x86.x86_write import INTEGERS, RAX, RDI

SHARING = forks.SYS_CLONE, forks.CLONE_VM, 0


@dataclass(frozen=True)
class Cloning:
    """``number``: of the system call, None where the program says it only when it runs; ``before``: the instruction in
    front."""

    address: int
    before: bytes
    number: int | None

    @property
    def front(self) -> int:
        return self.address - len(self.before)


class OwnClone(LibcCall):
    """In front of such a call. Other calls come there too, perhaps by thousands: then it is silent for a while."""

    def __init__(self, call: Cloning, wish: Wish) -> None:
        super().__init__(call.front, [wish], rare=True)
        self.call = call

    def words(self) -> list[int]:
        number = self.at_call(RAX) if self.call.number is None else self.call.number
        if number is not None and number not in CLONING.numbers:
            return [number, 0, 0]
        first = self.at_call(RDI)
        return [*SHARING] if number is None or first is None else [number, first, 0]

    def at_call(self, wanted: int) -> int | None:
        memory = process.InferiorMemory()
        return x86_moves.behind(
            self.call.before, wanted, lambda one: process.register(INTEGERS[one]), partial(call_registers.word, memory)
        )

    def see(self) -> None:
        super().see()
        with suppress(gdb.error):
            forks.stay_in_front(call_registers.thread_number(), range(self.call.front, self.call.address + 1))


def of_instructions(addresses: Iterable[int]) -> Iterator[Cloning]:
    for address in addresses:
        before, number = in_front(address)
        if before and (number is not None or is_in_function(address)):
            yield Cloning(address, before[-1].raw, number)


def is_in_function(address: int) -> bool:
    """Behind its end there may be numbers of a table that look like code, which is not to be changed."""
    function = process.function_start(address)
    return function is not None and address < function + detours.function_size(function)


def in_front(address: int) -> tuple[list[Instruction], int | None]:
    """The instructions in front of it, as far as they are known, and the call's number."""
    code, offset, reached = detours.function_around(address)
    found = x86_syscalls.in_front(code, offset) if code else None
    if found is not None:
        return found, x86_syscalls.number(found, x86_syscalls.understood(code[offset:]), reached)
    with suppress(Unreadable):
        near = process.original_code(address - NEAR, NEAR + len(SYSCALL))
        found = x86_syscalls.behind_number(CLONING, near, NEAR)
    return found or [], x86_syscalls.number(found or [])
