"""Values of a condition in machine code: each leaves 64 bits in rax, an integer or the bits of a double."""

from __future__ import annotations

import struct
from collections.abc import Callable

from gdbcuda.condition import typed
from gdbcuda.condition.arithmetic import DOUBLE, SIGNED, UNSIGNED
from gdbcuda.condition.machine_code.arithmetic_code import (
    from_double,
    load,
    operate,
    signed_to_double,
    unsigned_to_double,
)
from gdbcuda.condition.machine_code.frame import XMM8, Frame
from gdbcuda.condition.machine_code.pointer_code import Reads
from gdbcuda.condition.typed import Typed
from gdbcuda.machine.x86.x86_write import R10, RAX, RSP, At, Operand

# mov or movsx to 64 bits, from a register or memory; movzx of 4 bytes is a 32-bit mov
LOADS = {(1, True): b"\x0f\xbe", (1, False): b"\x0f\xb6", (2, True): b"\x0f\xbf", (2, False): b"\x0f\xb7",
         (4, True): b"\x63", (4, False): b"\x8b", (8, True): b"\x8b", (8, False): b"\x8b"}  # fmt: skip
LOAD_DOUBLES = {4: (b"\xf3", b"\x0f\x5a"), 8: (b"\xf2", b"\x0f\x10")}  # cvtss2sd, movsd
Test = Callable[[Typed, str, str], None]


class Values:
    """``test`` writes the nodes that are true or false: it jumps to one of two labels."""

    def __init__(self, frame: Frame, test: Test) -> None:
        self.frame, self.code, self.test = frame, frame.code, test
        self.reads = Reads(frame)
        self.ordinal_depth = 0  # of the stack, where a call's number was pushed
        self.writers: dict[type, Callable[..., None]] = {
            typed.Constant: self.constant,
            typed.Argument: self.argument,
            typed.Pointee: self.pointee,
            typed.Ordinal: self.ordinal,
            typed.Convert: self.convert,
            typed.Unary: self.unary,
            typed.Arithmetic: self.arithmetic,
        }

    def value(self, node: Typed) -> None:
        self.writers.get(type(node), self.as_number)(node)

    def as_number(self, node: Typed) -> None:
        """A comparison as a number."""
        yes, no, end = (self.code.new_label() for _ in range(3))
        self.test(node, yes, no)
        self.code.label(yes)
        load(self.code, 1)
        self.code.jump("", end)
        self.code.label(no)
        load(self.code, 0)
        self.code.label(end)

    def operands(self, left: Typed, right: Typed) -> None:
        """Left in rax, right in r10."""
        self.value(left)
        self.frame.push(RAX)
        self.value(right)
        self.code.instruction(b"\x8b", R10, RAX)
        self.frame.pop(RAX)

    # -- leaves

    def constant(self, node: typed.Constant) -> None:
        if node.kind == DOUBLE:
            load(self.code, struct.unpack("<Q", struct.pack("<d", float(node.value)))[0])
        else:
            load(self.code, int(node.value))

    def argument(self, node: typed.Argument) -> None:
        place, shift = self.frame.where(node)
        if shift:
            self.code.instruction(b"\x8b", RAX, place)
            self.code.instruction(b"\xc1", 5, RAX, immediate=bytes([shift]))  # shr
            place = RAX
        self.load(node, place)

    def pointee(self, node: typed.Pointee) -> None:
        self.value(node.pointer)
        if node.offset:
            self.code.instruction(b"\x81", 0, RAX, immediate=struct.pack("<i", node.offset))  # add
        self.reads.check(node.size)
        self.load(node, At(RAX))

    def ordinal(self, node: typed.Ordinal) -> None:
        self.code.instruction(b"\x8b", RAX, At(RSP, self.frame.depth - self.ordinal_depth))

    def load(self, node: typed.Argument | typed.Pointee, place: Operand) -> None:
        if node.kind == DOUBLE:
            prefix, opcode = LOAD_DOUBLES[node.size]
            self.code.instruction(opcode, XMM8, place, wide=False, prefix=prefix)
            from_double(self.code)
        else:
            is_signed = node.is_signed and node.size < 8
            self.code.instruction(LOADS[node.size, is_signed], RAX, place, wide=is_signed or node.size != 4)

    # -- operations

    def convert(self, node: typed.Convert) -> None:
        self.value(node.operand)
        if node.kind == DOUBLE and node.operand.kind == SIGNED:
            signed_to_double(self.frame)
        elif node.kind == DOUBLE and node.operand.kind == UNSIGNED:
            unsigned_to_double(self.frame)

    def unary(self, node: typed.Unary) -> None:
        self.value(node.operand)
        if node.kind == DOUBLE:
            self.code.instruction(b"\x0f\xba", 7, RAX, immediate=b"\x3f")  # btc rax, 63
        else:
            self.code.instruction(b"\xf7", 3 if node.op == "-" else 2, RAX)  # neg, not

    def arithmetic(self, node: typed.Arithmetic) -> None:
        self.operands(node.left, node.right)
        operate(self.frame, node.op, node.kind)
