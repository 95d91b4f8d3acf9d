"""Machine code that calls a function in its caller's place, and replaces what it has written, and its result.

    a frame with the arguments, the stack's copied;  call onward;  the out-values and the result;  ret

(x86-64; `machine.call_through` has the frame.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gdbcuda.faults.effects import Fault, Replace, Written, admit, result, withdraw
from gdbcuda.machine import abi, trampoline
from gdbcuda.machine.call_through import CALL, LEAVE_RETURN, WORD, copy_arguments, frame
from gdbcuda.machine.x86.x86_write import R10, RAX, RBP, At, Code, Target

MOVES = {1: (b"", b"\xc6"), 2: (b"\x66", b"\xc7"), 4: (b"", b"\xc7")}  # mov $value, memory: by its size


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
            self.replace(index, fault)
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

    def replace(self, index: int, fault: Fault) -> None:
        code, effect, following = self.code, effect_of(fault), self.code.new_label()
        if self.are_several:
            code.instruction(b"\x83", 7, self.flag(index), immediate=b"\0")  # cmp
            code.jump("e", following)
        if effect.written:
            self.write_all(fault, effect.written)
        if effect.status is not None:
            result(code, effect.status)
        code.label(following)

    def write_all(self, fault: Fault, written: Sequence[Written]) -> None:
        """What has failed is not counted."""
        code, failed, end = self.code, self.code.new_label(), self.code.new_label()
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
        code.jump("", end)
        code.label(failed)
        withdraw(code, fault)
        code.label(end)

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
