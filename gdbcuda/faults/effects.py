"""What is done to the calls that a fault means; and machine code that all of it needs: to count, to set the result."""

from __future__ import annotations

import struct
from typing import Union

from gdbcuda.data_classes import dataclass
from gdbcuda.machine import abi, trampoline
from gdbcuda.machine.trampoline import Test
from gdbcuda.machine.x86.x86_write import LOCK, R10, RAX, At, Code, CodeConstant


@dataclass(frozen=True)
class Written:
    """``raw`` (1, 2, 4 or 8 bytes) goes to ``offset`` of what the pointer at ``pointer`` leads to."""

    pointer: abi.Piece
    offset: int
    raw: bytes


@dataclass(frozen=True)
class Fail:
    """The call is not made."""

    status: int


@dataclass(frozen=True)
class Replace:
    """The call is made. ``written``: where it succeeded and the pointer is not NULL. ``status``: its result then."""

    written: tuple[Written, ...] = ()
    status: int | None = None


@dataclass(frozen=True)
class Delay:
    nanoseconds: int


Effect = Union[Fail, Replace, Delay]


@dataclass(frozen=True)
class Fault:
    """``done``: the address of 64 bits that count how often it was injected; ``most`` of them."""

    test: Test
    effect: Effect
    done: int
    most: int | None = None


def admit(code: Code, fault: Fault, otherwise: str) -> None:
    """One more; to ``otherwise`` where there were as many as there may be."""
    if fault.most is None:
        trampoline.count(code, fault.done)
        return
    admitted = code.new_label()
    code.push(RAX)
    code.push(R10)
    code.constant(R10, fault.done)
    code.constant(RAX, 1)
    code.instruction(b"\x0f\xc1", RAX, At(R10), prefix=LOCK)  # lock xadd
    code.instruction(b"\x3b", RAX, CodeConstant(fault.most))  # cmp
    code.jump("b", admitted)
    code.instruction(b"\xff", 1, At(R10), prefix=LOCK)  # lock dec
    code.pop(R10)
    code.pop(RAX)
    code.jump("", otherwise)
    code.label(admitted)
    code.pop(R10)
    code.pop(RAX)


def withdraw(code: Code, fault: Fault) -> None:
    """One less: the call had nothing that could be replaced."""
    code.push(R10)
    code.constant(R10, fault.done)
    code.instruction(b"\xff", 1, At(R10), prefix=LOCK)  # lock dec
    code.pop(R10)


def result(code: Code, status: int) -> None:
    code.emit(b"\xb8" + struct.pack("<I", status & 0xFFFFFFFF))  # mov $status, %eax
