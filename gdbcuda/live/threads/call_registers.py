"""Registers of a call at its first instruction and at its return, without asking gdb for a frame."""

from __future__ import annotations

from typing import NamedTuple

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.machine import abi


class CallMachine(NamedTuple):
    """What a call is told by."""

    stack_pointer: str
    result: str
    scratch: tuple[str, ...]  # some instruction changes these, wherever code goes on
    link: str = ""  # the register with the return address; else it is on the stack

    def return_place(self, stack: int, memory: process.InferiorMemory) -> tuple[int, int]:
        """At a function's first instruction: return address, and the stack pointer after the return."""
        if self.link:
            return process.register(self.link), stack
        back = word(memory, stack)
        if process.in_own_code(back):  # the recorder has called it, in a frame that rbp leads to
            frame = process.register("rbp")
            return word(memory, frame + 8), frame + 16
        return back, stack + 8

    def moment(self) -> tuple[int, ...]:
        """The same when a thread is met again that has executed nothing since."""
        return tuple(map(process.register, self.scratch))


MACHINES = {
    "x86-64": CallMachine("rsp", "rax", ("rax", "rcx", "rdx", "r11", "eflags")),
    "aarch64": CallMachine("sp", "x0", ("x8", "x9", "x16", "x17", "cpsr"), "x30"),
}


@process.until_objects_change
def here() -> CallMachine:
    """The machine of the selected program."""
    return MACHINES[process.machine()]


def word(memory: process.InferiorMemory, address: int) -> int:
    return int.from_bytes(memory.read(address, 8), "little")


def current_stack_pointer() -> int:
    """Of the selected thread, in its innermost frame."""
    return process.register(here().stack_pointer)


def stack_pointer(frame: gdb.Frame) -> int:
    return int(frame.read_register(here().stack_pointer)) & (1 << 64) - 1


def result_register() -> int:
    """What an integer function that has just returned has returned."""
    return process.register(here().result)


def thread_number() -> int:
    return int(gdb.selected_thread().num)


def read(place: abi.ValuePlace, stack: int, memory: process.InferiorMemory) -> bytes | None:
    try:
        return place.read(process.register, stack, memory)
    except Unreadable:
        return None
