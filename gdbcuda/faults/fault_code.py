"""What a trampoline does to calls that a fault means, in the process: nobody stops.

    delay    nanosleep;  the call goes on
    fail     mov $status, %eax;  ret
    replace  a frame with the arguments, the stack's copied;  call onward;  the out-values and the result;  ret

Faults come in front of the tests of breakpoints: a call that is failed comes to none of them. Registers and stack are
what they were at the entry, and behind the return what the function left. (x86-64; nanosleep(2).)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

from gdbcuda.machine import abi, trampoline
from gdbcuda.machine.call_through import CALL, LEAVE_RETURN, WORD, copy_arguments, frame
from gdbcuda.machine.trampoline import Test
from gdbcuda.machine.x86_write import LOCK, R10, R11, RAX, RBP, RCX, RDI, RSI, RSP, At, Code, CodeConstant, Target

NANOSLEEP, EINTR = 35, 4
CLOBBERED = (RAX, RCX, RDI, RSI, R11)  # by the call, or for its arguments
SECOND = 1_000_000_000
MOVES = {1: (b"", b"\xc6"), 2: (b"\x66", b"\xc7"), 4: (b"", b"\xc7")}  # mov $value, memory: by its size


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


@dataclass(frozen=True)
class Faults:
    """Of one function; ``stack``: words of arguments there."""

    faults: Sequence[Fault]
    stack: int

    def write(self, code: Code, stops: Sequence[trampoline.Diverted]) -> None:
        """Goes on behind for a call that is as it was. ``stops``: where one goes that breakpoints are meant for, and
        which; else it goes to the label onward."""
        for fault in self.of(Delay):
            following = begun(code, fault)
            sleep(code, fault.effect.nanoseconds)  # type: ignore[union-attr]
            code.label(following)
        for fault in self.of(Fail):
            following = begun(code, fault)
            result(code, fault.effect.status)  # type: ignore[union-attr, arg-type]
            code.emit(b"\xc3")
            code.label(following)
        if replacing := self.of(Replace):
            Replacing(code, replacing, self.stack).write(stops)

    def of(self, kind: type[Effect]) -> list[Fault]:
        return [one for one in self.faults if isinstance(one.effect, kind)]


def begun(code: Code, fault: Fault) -> str:
    """Tests and counts; returns the label, yet to be placed, of the calls that are not meant."""
    meant, following = code.new_label(), code.new_label()
    fault.test(code, meant, following, 0)
    code.label(meant)
    admit(code, fault, following)
    return following


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


def result(code: Code, status: int) -> None:
    code.emit(b"\xb8" + struct.pack("<I", status & 0xFFFFFFFF))  # mov $status, %eax


def sleep(code: Code, nanoseconds: int) -> None:
    """All of it, whatever signals come: what is left is written where the time was read."""
    again = code.new_label()
    for register in CLOBBERED:
        code.push(register)
    for number in reversed(divmod(nanoseconds, SECOND)):
        code.constant(RAX, number)
        code.push(RAX)
    code.label(again)
    code.instruction(b"\x8b", RDI, RSP)
    code.instruction(b"\x8b", RSI, RSP)
    code.constant(RAX, NANOSLEEP)
    code.emit(b"\x0f\x05")  # syscall
    code.instruction(b"\x83", 7, RAX, immediate=struct.pack("<b", -EINTR))  # cmp
    code.jump("e", again)
    code.instruction(b"\x81", 0, RSP, immediate=struct.pack("<i", 2 * WORD))  # add
    for register in reversed(CLOBBERED):
        code.pop(register)


class Replacing:
    """All of one function share the frame: it has the pointers that out-values go through, and for each fault, where
    there are several, whether the call is meant."""

    def __init__(self, code: Code, faults: Sequence[Fault], stack: int) -> None:
        self.code, self.faults, self.stack = code, faults, stack
        pieces = [one.pointer for fault in faults for one in effect_of(fault).written]
        self.registers = list(dict.fromkeys(one.register for one in pieces if one.register is not None))
        self.are_several = len(faults) > 1

    def write(self, stops: Sequence[trampoline.Diverted]) -> None:
        code, meant, rest = self.code, self.code.new_label(), self.code.new_label()
        trampoline.branch(code, [fault.test for fault in self.faults], meant)
        code.jump("", rest)
        code.label(meant)
        if not self.are_several:
            admit(code, self.faults[0], rest)
        pushed = frame(code, self.registers, len(self.registers) + len(self.faults), self.stack)
        if self.are_several:
            self.note(pushed)
        self.call(stops, pushed)
        for index, fault in enumerate(self.faults):
            self.replace(index, effect_of(fault))
        code.emit(LEAVE_RETURN)
        code.label(rest)

    def flag(self, index: int) -> At:
        return At(RBP, -WORD * (1 + len(self.registers) + index))

    def note(self, pushed: int) -> None:
        """Which of the faults mean the call."""
        code = self.code
        for index, fault in enumerate(self.faults):
            yes, no, end = (code.new_label() for _ in range(3))
            fault.test(code, yes, no, pushed)
            code.label(yes)
            admit(code, fault, no)
            self.set_flag(index, 1)
            code.jump("", end)
            code.label(no)
            self.set_flag(index, 0)
            code.label(end)

    def set_flag(self, index: int, value: int) -> None:
        self.code.instruction(b"\xc7", 0, self.flag(index), immediate=struct.pack("<i", value))

    def call(self, stops: Sequence[trampoline.Diverted], pushed: int) -> None:
        """The function, or what its breakpoints wait for."""
        code, over = self.code, self.code.new_label()
        for way in stops:
            meant, following = code.new_label(), code.new_label()
            trampoline.any_of(code, way.tests, meant, following, pushed)
            code.label(meant)
            self.go(way.target, over)
            code.label(following)
        self.go("onward", over)
        code.label(over)

    def go(self, target: Target, over: str) -> None:
        copy_arguments(self.code, self.stack)
        self.code.emit(CALL)
        self.code.distance(target)
        self.code.jump("", over)

    def replace(self, index: int, effect: Replace) -> None:
        code, following = self.code, self.code.new_label()
        if self.are_several:
            code.instruction(b"\x83", 7, self.flag(index), immediate=b"\0")  # cmp
            code.jump("e", following)
        if effect.written:
            self.write_all(effect.written)
        if effect.status is not None:
            result(code, effect.status)
        code.label(following)

    def write_all(self, written: Sequence[Written]) -> None:
        code, failed = self.code, self.code.new_label()
        code.instruction(b"\x85", RAX, RAX, wide=False)  # test
        code.jump("ne", failed)
        code.push(RAX)
        code.push(R10)
        for one in written:
            following = code.new_label()
            code.instruction(b"\x8b", R10, self.place_of(one.pointer))
            code.instruction(b"\x85", R10, R10)
            code.jump("e", following)
            store(code, one)
            code.label(following)
        code.pop(R10)
        code.pop(RAX)
        code.label(failed)

    def place_of(self, pointer: abi.Piece) -> At:
        """In the frame; what is on the stack is above rbp and the return address."""
        if pointer.register is not None:
            return At(RBP, -WORD * (1 + self.registers.index(pointer.register)))
        assert pointer.stack is not None
        return At(RBP, WORD + pointer.stack)


def effect_of(fault: Fault) -> Replace:
    assert isinstance(fault.effect, Replace)
    return fault.effect


def store(code: Code, one: Written) -> None:
    """r10 is the pointer; rax is lost."""
    place = At(R10, one.offset)
    if len(one.raw) == WORD:
        code.constant(RAX, int.from_bytes(one.raw, "little"))
        code.instruction(b"\x89", RAX, place)
        return
    prefix, opcode = MOVES[len(one.raw)]
    code.instruction(opcode, 0, place, wide=False, prefix=prefix, immediate=one.raw)
