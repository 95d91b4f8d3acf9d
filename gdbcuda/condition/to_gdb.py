"""The back end that writes a gdb expression: registers, casts and C operators, no debug info needed.

gdb evaluates such a condition itself, also inside gdbserver (gdb manual, "Break Conditions" and "Agent
Expressions"). Operands are cast to 64 bits, for gdb promotes as C does and would wrap at 32 bits otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gdbcuda import abi
from gdbcuda.condition import typed
from gdbcuda.condition.numbers import DOUBLE, SIGNED, UNSIGNED
from gdbcuda.condition.typed import Typed

C_NAMES = {SIGNED: "long", UNSIGNED: "unsigned long", DOUBLE: "double"}
SUFFIXES = {SIGNED: "l", UNSIGNED: "ul"}
C_SIGNED = {1: "signed char", 2: "short", 4: "int"}
# the lowest float or double of xmm0 … and v0 …, as gdb's target descriptions name it
VECTOR_FIELDS = {
    ("x", 4): ".v4_float[0]",
    ("x", 8): ".v2_double[0]",
    ("v", 4): ".s.f[0]",
    ("v", 8): ".d.f[0]",
}
INT_MAX = (1 << 31) - 1


class Refused(Exception):
    """gdb cannot be told this condition; the text says why."""


def expression(tree: Typed, locations: Sequence[abi.Location]) -> str:
    """The gdb expression; `Refused` where registers do not suffice."""
    text = Writer(locations).write(tree)
    return text[1:-1] if isinstance(tree, (typed.Compare, typed.Logic)) else text


class Writer:
    """Each method writes one kind of node as an operand: in parentheses unless nothing can bind tighter."""

    def __init__(self, locations: Sequence[abi.Location]) -> None:
        self.locations = locations
        self.writers: dict[type, Callable[..., str]] = {
            typed.Constant: self.constant,
            typed.Argument: self.argument,
            typed.Convert: lambda node: f"({C_NAMES[node.kind]}){self.write(node.operand)}",
            typed.Unary: self.unary,
            typed.Arithmetic: self.arithmetic,
            typed.Compare: self.compare,
            typed.Logic: lambda node: f"({self.write(node.left)} {node.op} {self.write(node.right)})",
            typed.Not: lambda node: f"!{self.write(node.operand)}",
            typed.Matches: self.matches,
        }

    def write(self, node: Typed) -> str:
        return self.writers[type(node)](node)

    def operand(self, node: Typed) -> str:
        """For arithmetic: a comparison is a 32-bit int in C, ours has 64 bits."""
        is_int = isinstance(node, (typed.Compare, typed.Logic, typed.Not))
        return f"(long){self.write(node)}" if is_int else self.write(node)

    def constant(self, node: typed.Constant) -> str:
        if node.kind == DOUBLE:
            is_negative = math.copysign(1, node.value) < 0
            return f"({abs(node.value)!r} * -1.0)" if is_negative else repr(node.value)
        if node.value == -(1 << 63):
            return "(-9223372036854775807l - 1)"  # C has no literal for it
        text = f"{node.value}{SUFFIXES[node.kind]}"
        return f"({text})" if node.value < 0 else text

    def unary(self, node: typed.Unary) -> str:
        operand = self.operand(node.operand)
        if node.kind == DOUBLE:
            return f"({operand} * -1.0)"  # gdb's minus is 0 - x, which makes +0.0 of 0.0
        return f"({node.op}{operand})"

    def argument(self, node: typed.Argument) -> str:
        register = self.register(node)
        if node.kind == DOUBLE:
            lowest = f"${register}{VECTOR_FIELDS[register[0], node.size]}"
            return lowest if node.size == 8 else f"(double){lowest}"
        if node.size == 8:
            return f"({C_NAMES[node.kind]})${register}"
        return f"(long){self.narrow(node)}" if node.is_signed else self.narrow(node)

    def narrow(self, node: typed.Argument) -> str:
        """The low bytes of a register. A mask, for gdb 16 casts negative numbers wrongly to narrower types."""
        low = f"(${self.register(node)} & {(1 << 8 * node.size) - 1:#x})"
        return f"({C_SIGNED[node.size]}){low}" if node.is_signed else low

    def register(self, node: typed.Argument) -> str:
        pieces = self.locations[node.index].pieces
        if len(pieces) != 1 or pieces[0].register is None or pieces[0].indirect:
            raise Refused(f"{node.name} is passed on the stack")
        return pieces[0].register

    def compare(self, node: typed.Compare) -> str:
        return f"({self.compared(node.left, node.right)} {node.op} {self.compared(node.right, node.left)})"

    def compared(self, node: Typed, other: Typed) -> str:
        """One side of a comparison; without the widening casts and suffixes that change nothing there."""
        if isinstance(node, typed.Constant) and fits_int(node):
            return str(node.value)
        if isinstance(node, typed.Argument) and node.is_signed and node.size < 8 and fits_int(other):
            return self.narrow(node)
        return self.write(node)

    def arithmetic(self, node: typed.Arithmetic) -> str:
        left, right = self.operand(node.left), self.operand(node.right)
        if node.op in ("/", "%") and node.kind != DOUBLE:
            return self.division(node, left, right)
        if node.op in ("<<", ">>"):
            right = f"(int)({right} & 63)"
        if node.kind == SIGNED and node.op in ("*", "<<"):
            return self.wrapping(node.op, left, right)
        return f"({left} {node.op} {right})"

    def wrapping(self, op: str, left: str, right: str) -> str:
        """Unsigned: C leaves the signed overflow open, and gdb 16 gets it wrong for negative results."""
        factor = f"(unsigned long){right}" if op == "*" else right
        return f"((long)((unsigned long){left} {op} {factor}))"

    def division(self, node: typed.Arithmetic, left: str, right: str) -> str:
        """gdb stops with an error at a division by zero, and some gdbs die of INT64_MIN / -1."""
        divided = f"{left} {node.op} {right}"
        if isinstance(node.right, typed.Constant) and node.right.value not in (0, -1):
            return f"({divided})"
        zero = "0" + SUFFIXES[node.kind]
        if node.kind == SIGNED:
            divided = f"{right} == -1 ? {f'-{left}' if node.op == '/' else zero} : {divided}"
        return f"({right} == 0 ? {zero} : {divided})"

    def matches(self, node: typed.Matches) -> str:
        raise Refused(f"the string {node.name} is in memory, and gdb's own conditions compare only numbers")


def fits_int(node: Typed) -> bool:
    """Whether it is a number that C and gdb take for an int."""
    return isinstance(node, typed.Constant) and node.kind != DOUBLE and 0 <= node.value <= INT_MAX
