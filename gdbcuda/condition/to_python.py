"""The back end that evaluates a condition in Python, over values or over the memory of the program."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple, Union

from gdbcuda.condition import typed
from gdbcuda.condition.arithmetic import COMPARISONS, DOUBLE, Number, arithmetic, convert, negate, wrap
from gdbcuda.condition.place import Surroundings
from gdbcuda.condition.typed import Typed
from gdbcuda.errors import Unreadable
from gdbcuda.memory import ADDRESSES, Memory, read_string


class RecordedText(NamedTuple):
    """A string of a recorded call; ``address``: where it was, None where the log does not say."""

    text: str
    address: int | None


Value = Union[int, float, bytes, str, RecordedText, None]


class CallValues:
    """What a condition is evaluated on: arguments by name (numbers; strings by value or by address; structs as the
    number that their bytes make), the memory behind pointers, and who calls."""

    def __init__(
        self, values: Mapping[str, Value], memory: Memory | None, surroundings: Surroundings | None = None
    ) -> None:
        self.values = values
        self._memory = memory
        self._surroundings = surroundings
        self.ordinal = 0  # once it is counted

    def memory_for(self, name: str) -> Memory:
        if self._memory is None:
            raise TypeError(f"{name} is an address: pass the memory to read from")
        return self._memory

    @property
    def surroundings(self) -> Surroundings:
        if self._surroundings is None:
            raise TypeError("the condition asks for the caller, the thread or a count: pass the surroundings")
        return self._surroundings

    def number(self, name: str) -> Number:
        value = self.values[name]
        if isinstance(value, RecordedText):
            if value.address is None:
                raise Unreadable(0)
            return value.address
        if isinstance(value, (bytes, str)):
            return 1  # where it lies is not known, but it is not NULL
        return 0 if value is None else value

    def string(self, name: str, limit: int) -> bytes | None:
        """The string, or ``limit`` bytes of it; None for NULL and for what cannot be read."""
        value = self.values[name]
        value = value.text if isinstance(value, RecordedText) else value
        if isinstance(value, str):
            return value.encode()
        if not isinstance(value, int):
            return value if isinstance(value, bytes) else None
        try:
            return read_string(self.memory_for(name), value, limit)[0] if value else None
        except Unreadable:
            return None


Evaluate = Callable[[CallValues], Number]


def compiled(node: Typed) -> Evaluate:
    """A function that gives the node's value for one call."""
    return _COMPILERS[type(node)](node)


def _constant(node: typed.Constant) -> Evaluate:
    return lambda call: node.value


def _argument(node: typed.Argument) -> Evaluate:
    name, bits, shift, is_signed = node.name, 8 * node.size, 8 * node.offset, node.is_signed
    if node.kind == DOUBLE:
        return lambda call: float(call.number(name))
    return lambda call: wrap(int(call.number(name)) >> shift, bits, is_signed)


def _pointee(node: typed.Pointee) -> Evaluate:
    pointer, offset, size, is_signed = compiled(node.pointer), node.offset, node.size, node.is_signed

    def read(call: CallValues) -> bytes:
        return call.memory_for(node.pointer.name).read((int(pointer(call)) + offset) % ADDRESSES, size)

    if node.kind == DOUBLE:
        layout = "<f" if size == 4 else "<d"
        return lambda call: float(struct.unpack(layout, read(call))[0])
    return lambda call: int.from_bytes(read(call), "little", signed=is_signed)


def _convert(node: typed.Convert) -> Evaluate:
    operand, kind = compiled(node.operand), node.kind
    return lambda call: convert(operand(call), kind)


def _unary(node: typed.Unary) -> Evaluate:
    operand, kind = compiled(node.operand), node.kind
    if node.op == "-":
        return lambda call: negate(operand(call), kind)
    return lambda call: convert(~int(operand(call)), kind)


def _arithmetic(node: typed.Arithmetic) -> Evaluate:
    left, right, op, kind = compiled(node.left), compiled(node.right), node.op, node.kind
    return lambda call: arithmetic(op, left(call), right(call), kind)


def _compare(node: typed.Compare) -> Evaluate:
    left, right, compare = compiled(node.left), compiled(node.right), COMPARISONS[node.op]
    return lambda call: int(compare(left(call), right(call)))


def _logic(node: typed.Logic) -> Evaluate:
    left, right = compiled(node.left), compiled(node.right)
    if node.op == "&&":
        return lambda call: int(left(call) != 0 and right(call) != 0)
    return lambda call: int(left(call) != 0 or right(call) != 0)


def _not(node: typed.Not) -> Evaluate:
    operand = compiled(node.operand)
    return lambda call: int(operand(call) == 0)


def _matches(node: typed.Matches) -> Evaluate:
    name, text, limit = node.name, node.text, len(node.text) + 1
    size = len(text) if node.prefix else None  # of the string, what has to be the same

    def matches(call: CallValues) -> int:
        found = call.string(name, limit)
        return int(found is not None and found[:size] == text)

    return matches


def _caller_in(node: typed.CallerIn) -> Evaluate:
    words = node.words
    return lambda call: int(call.surroundings.is_from(words))


def _thread(node: typed.Thread) -> Evaluate:
    number = node.number
    return lambda call: int(call.surroundings.thread() == number)


def _count(node: typed.Count) -> Evaluate:
    test = compiled(node.test)

    def counted(call: CallValues) -> Number:
        call.ordinal = call.surroundings.count()
        return test(call)

    return counted


_COMPILERS: dict[type, Callable[..., Evaluate]] = {
    typed.Constant: _constant,
    typed.Argument: _argument,
    typed.Convert: _convert,
    typed.Unary: _unary,
    typed.Arithmetic: _arithmetic,
    typed.Compare: _compare,
    typed.Logic: _logic,
    typed.Not: _not,
    typed.Matches: _matches,
    typed.Pointee: _pointee,
    typed.CallerIn: _caller_in,
    typed.Thread: _thread,
    typed.Ordinal: lambda node: lambda call: call.ordinal,
    typed.Count: _count,
}
