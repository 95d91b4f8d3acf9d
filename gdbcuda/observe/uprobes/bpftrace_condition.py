"""The back end of conditions that bpftrace evaluates in the kernel, of each call before it is told.

What a kernel's program cannot compute as every other back end does (fractions, divisions that may be by zero, who
called, counts) it is not given: those terms are asked of the calls that it tells. Memory that cannot be read is zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.condition import Condition, typed
from gdbcuda.condition.arithmetic import DOUBLE, SIGNED
from gdbcuda.condition.typed import Typed
from gdbcuda.machine import abi
from gdbcuda.observe.uprobes.bpftrace_text import TEXT_SIZE, register
from gdbcuda.rings.ring_functions import integers

KINDS = {SIGNED: "int64", "unsigned": "uint64"}
BOOLEANS = (typed.Compare, typed.Logic, typed.Not, typed.Matches)
PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - frozenset('"\\%')


class NotInKernel(Exception):
    """The text says why."""


class InKernel(NamedTuple):
    """``text``: what has to hold, "" for all calls; ``why``: what is asked afterwards, and why; "" for nothing."""

    text: str
    why: str


def in_kernel(condition: Condition, function: api.Function) -> InKernel:
    bound, terms, reasons = condition.bound[function.symbol], [], []
    for text, tree in bound.terms:
        try:
            terms.append(BpfWriter(abi.locate(function)).as_boolean(tree))
        except NotInKernel as reason:
            reasons.append(f"{text} ({reason})")
    if bound.count is not None:
        reasons.append(f"{bound.count.text} (calls are counted afterwards)")
    return InKernel(" && ".join(terms), "; ".join(reasons))


class BpfWriter:
    """Each method writes one kind of node as an operand of 64 bits, in parentheses."""

    def __init__(self, locations: Sequence[abi.ValuePlace]) -> None:
        self.locations = locations
        self.writers: dict[type, Callable[..., str]] = {
            typed.Constant: self.constant,
            typed.Argument: self.argument,
            typed.Pointee: self.pointee,
            typed.Convert: lambda node: self.cast(node.kind, self.write(node.operand)),
            typed.Unary: self.unary,
            typed.Arithmetic: self.arithmetic,
            typed.Compare: lambda node: f"({self.write(node.left)} {node.op} {self.write(node.right)})",
            typed.Logic: lambda node: f"({self.as_boolean(node.left)} {node.op} {self.as_boolean(node.right)})",
            typed.Not: lambda node: f"(!{self.as_boolean(node.operand)})",
            typed.Matches: self.matches,
            typed.CallerIn: refuse("only a log knows who calls"),
            typed.Thread: refuse("threads have their numbers in the log"),
        }

    def write(self, node: Typed) -> str:
        text = self.writers[type(node)](node)
        return f"(int64)({text})" if isinstance(node, BOOLEANS) else text

    def as_boolean(self, node: Typed) -> str:
        text = self.writers[type(node)](node)
        return text if isinstance(node, BOOLEANS) else f"({text} != {self.cast(node.kind, '0')})"

    def cast(self, kind: str, text: str) -> str:
        if kind not in KINDS:
            raise NotInKernel("a kernel does not compute with fractions")
        return f"(({KINDS[kind]}){text})"

    def constant(self, node: typed.Constant) -> str:
        value = int(node.value) if node.kind != DOUBLE else 0
        if value >= 1 << 63 or value == -(1 << 63):
            raise NotInKernel("bpftrace has no number as large")
        return self.cast(node.kind, str(value) if value >= 0 else f"(-{-value})")

    def argument(self, node: typed.Argument) -> str:
        piece, offset = self.locations[node.index].piece_at(node.offset, node.size) or (None, 0)
        if piece is None or piece.indirect or node.kind == DOUBLE:
            raise NotInKernel("a kernel does not see fractions")
        if piece.stack is not None:
            return self.widened(node, f'*({c_type(node)}*)($sp + {piece.stack + offset})')
        if piece.register not in integers:
            raise NotInKernel("a kernel does not see vector registers")
        word = register(integers.index(piece.register))
        shifted = f"({word} >> {8 * offset})" if offset else word
        return self.widened(node, f"({c_type(node)}){shifted}")

    def pointee(self, node: typed.Pointee) -> str:
        if node.kind == DOUBLE:
            raise NotInKernel("a kernel does not compute with fractions")
        return self.widened(node, f"*({c_type(node)}*)({self.argument(node.pointer)} + {node.offset})")

    def widened(self, node: typed.Argument | typed.Pointee, text: str) -> str:
        """bpftrace 0.17 copies the highest bit of an unsigned number too where the wider type is signed."""
        is_narrow = not node.is_signed and node.size < abi.WORD
        return self.cast(node.kind, f"((uint64)({text}))" if is_narrow else f"({text})")

    def unary(self, node: typed.Unary) -> str:
        operand = self.write(node.operand)
        return self.cast(node.kind, f"(~{operand})" if node.op == "~" else f"({self.cast(node.kind, '0')} - {operand})")

    def arithmetic(self, node: typed.Arithmetic) -> str:
        left, right = self.write(node.left), self.write(node.right)
        if node.op in ("/", "%") and (node.kind == SIGNED or not is_number(node.right, 1)):
            raise NotInKernel("a kernel divides unsigned numbers by numbers alone")
        if node.op == ">>" and node.kind == SIGNED:
            raise NotInKernel("bpftrace shifts unsigned numbers alone to the right")
        if node.op in ("<<", ">>"):
            right = f"({right} & 63)"
        return self.cast(node.kind, f"({left} {node.op} {right})")

    def matches(self, node: typed.Matches) -> str:
        text = node.text.decode("utf-8", "replace")
        piece = self.locations[node.index].pieces[0]
        if not set(text) <= PLAIN or not text or len(text) > TEXT_SIZE - 2 or piece.register not in integers:
            raise NotInKernel(f"bpftrace compares texts of 1 to {TEXT_SIZE - 2} plain characters")
        there = f"str({register(integers.index(piece.register))})"
        return f'(strncmp({there}, "{text}", {len(text)}) == 0)' if node.prefix else f'({there} == "{text}")'


def refuse(why: str) -> Callable[[Typed], str]:
    def write(node: Typed) -> str:
        raise NotInKernel(why)

    return write


def c_type(node: typed.Argument | typed.Pointee) -> str:
    return f"{'' if node.is_signed else 'u'}int{8 * node.size}"


def is_number(node: Typed, least: int) -> bool:
    return isinstance(node, typed.Constant) and node.value >= least
