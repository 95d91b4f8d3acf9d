"""The back end that writes gdb expressions: registers, casts and C operators, no debug info needed.

What reads registers and memory alone gdbserver evaluates itself (gdb manual, "Break Conditions" and "Agent
Expressions"). The caller and the thread gdb has to tell, so an expression with them is evaluated in gdb, as are strings
and arguments on the stack, by `$_cuda_if` and a term's own text. Operands are cast to 64 bits, for gdb promotes as C
does and would wrap at 32 bits otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gdbcuda.condition import typed
from gdbcuda.condition.arithmetic import DOUBLE, SIGNED, UNSIGNED
from gdbcuda.condition.grammar.show import escaped
from gdbcuda.condition.typed import Typed
from gdbcuda.data_classes import dataclass
from gdbcuda.machine import abi

C_NAMES = {SIGNED: "long", UNSIGNED: "unsigned long", DOUBLE: "double"}
SUFFIXES = {SIGNED: "l", UNSIGNED: "ul"}
C_SIGNED = {1: "signed char", 2: "short", 4: "int", 8: "long"}
C_UNSIGNED = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}
C_FLOATS = {4: "float", 8: "double"}
# the lowest float or double of xmm0 … and v0 …, as gdb's target descriptions name it
VECTOR_FIELDS = {
    ("x", 4): ".v4_float[0]",
    ("x", 8): ".v2_double[0]",
    ("v", 4): ".s.f[0]",
    ("v", 8): ".d.f[0]",
}
INT_MAX = (1 << 31) - 1


class NoGdbExpression(Exception):
    """gdb cannot be told this condition; the text says why."""


@dataclass(frozen=True)
class Native:
    """A condition for gdb: ``terms`` to be joined by &&, the cheap ones first, and then ``count``, the text of what
    counts ("nth == 3") or "". ``why``: what keeps gdbserver from evaluating it by itself; "" where nothing does."""

    terms: tuple[str, ...]
    count: str
    why: str


def native(
    terms: Sequence[tuple[str, Typed]], count: typed.Count | None, locations: Sequence[abi.ValuePlace]
) -> Native:
    """For terms with their texts; every condition has one."""
    cheap, dear, reasons = [], [], []
    for text, tree in terms:
        try:
            cheap.append(GdbWriter(locations).write(tree))
        except NoGdbExpression as reason:
            dear.append(on_the_host(text, tree, locations))
            reasons.append(str(reason))
    if count is not None:
        reasons.append("calls are counted in gdb")
    return Native((*cheap, *dear), count.text if count else "", reasons[0] if reasons else "")


def on_the_host(text: str, tree: Typed, locations: Sequence[abi.ValuePlace]) -> str:
    """The term with gdb's help, or its text for our own evaluation."""
    try:
        return HostWriter(locations).write(tree)
    except NoGdbExpression:
        return f'$_cuda_if("{escaped(text)}")'


class GdbWriter:
    """Each method writes one kind of node as an operand: in parentheses unless nothing can bind tighter."""

    def __init__(self, locations: Sequence[abi.ValuePlace]) -> None:
        self.locations = locations
        self.writers: dict[type, Callable[..., str]] = {
            typed.Constant: self.constant,
            typed.Argument: self.argument,
            typed.Pointee: self.pointee,
            typed.Convert: lambda node: f"({C_NAMES[node.kind]}){self.write(node.operand)}",
            typed.Unary: self.unary,
            typed.Arithmetic: self.arithmetic,
            typed.Compare: self.compare,
            typed.Logic: lambda node: f"({self.write(node.left)} {node.op} {self.write(node.right)})",
            typed.Not: lambda node: f"!{self.write(node.operand)}",
            typed.Matches: self.matches,
            typed.CallerIn: self.caller_in,
            typed.Thread: self.thread,
        }

    def write(self, node: Typed) -> str:
        return self.writers[type(node)](node)

    def operand(self, node: Typed) -> str:
        """For arithmetic: a comparison is a 32-bit int in C, ours has 64 bits."""
        is_int = isinstance(node, (typed.Compare, typed.Logic, typed.Not, typed.CallerIn, typed.Thread))
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

    # -- arguments

    def argument(self, node: typed.Argument) -> str:
        register, _ = self.register(node)
        if node.kind == DOUBLE:
            lowest = f"${register}{VECTOR_FIELDS[register[0], node.size]}"
            return lowest if node.size == 8 else f"(double){lowest}"
        if node.size == 8:
            return f"({C_NAMES[node.kind]})${register}"
        return f"(long){self.narrow(node)}" if node.is_signed else self.narrow(node)

    def narrow(self, node: typed.Argument) -> str:
        """Some bytes of a register. A mask, for gdb 16 casts negative numbers wrongly to narrower types."""
        register, shift = self.register(node)
        moved = f"(${register} >> {shift})" if shift else f"${register}"
        low = f"({moved} & {(1 << 8 * node.size) - 1:#x})"
        return f"({C_SIGNED[node.size]}){low}" if node.is_signed else low

    def register(self, node: typed.Argument) -> tuple[str, int]:
        """The register, and by how many bits the value is to be shifted down in it."""
        piece, offset = self.locations[node.index].piece_at(node.offset, node.size) or (None, 0)
        if piece is None or piece.register is None or piece.indirect:
            raise NoGdbExpression(f"{node.name} is passed on the stack")
        if offset and node.kind == DOUBLE:
            raise NoGdbExpression(f"{node.name} is in the upper half of a register")
        return piece.register, 8 * offset

    def pointee(self, node: typed.Pointee) -> str:
        register, _ = self.register(node.pointer)
        address = f"(${register} + {node.offset})" if node.offset else f"${register}"
        if node.kind == DOUBLE:
            value = f"*({C_FLOATS[node.size]} *){address}"
            return value if node.size == 8 else f"(double){value}"
        names = C_SIGNED if node.is_signed else C_UNSIGNED
        return f"({C_NAMES[node.kind]})*({names[node.size]} *){address}"

    # -- operations

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
        """gdb stops with an error at a division by zero, and some die of INT64_MIN / -1. What is divided is read all
        the same: where its pointer leads nowhere, nothing is known."""
        divided = f"{left} {node.op} {right}"
        if isinstance(node.right, typed.Constant) and node.right.value not in (0, -1):
            return f"({divided})"
        zero = "0" + SUFFIXES[node.kind]
        if any(isinstance(one, typed.Pointee) for one in typed.nodes(node.left)):
            zero = f"({left} & {zero})"
        if node.kind == SIGNED:
            divided = f"{right} == -1 ? {f'-{left}' if node.op == '/' else zero} : {divided}"
        return f"({right} == 0 ? {zero} : {divided})"

    # -- what registers do not say

    def matches(self, node: typed.Matches) -> str:
        raise NoGdbExpression(f"the string {node.name} is in memory, and gdb's own conditions compare only numbers")

    def caller_in(self, node: typed.CallerIn) -> str:
        raise NoGdbExpression("who calls has to be looked up in gdb")

    def thread(self, node: typed.Thread) -> str:
        raise NoGdbExpression("only gdb knows its threads' numbers")


class HostWriter(GdbWriter):
    """With what gdb itself knows of a stop."""

    def caller_in(self, node: typed.CallerIn) -> str:
        return f'$_cuda_from("{escaped(",".join(node.words))}")'

    def thread(self, node: typed.Thread) -> str:
        return f"($_thread == {node.number})"


def fits_int(node: Typed) -> bool:
    """Whether it is a number that C and gdb take for an int."""
    return isinstance(node, typed.Constant) and node.kind != DOUBLE and 0 <= node.value <= INT_MAX
