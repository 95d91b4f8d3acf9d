"""The arithmetic of conditions: what every back end must agree on.

Values are signed 64-bit, unsigned 64-bit or double. As in C, a double operand makes the operation one on
doubles, else an unsigned one makes it unsigned; integers wrap around. Where C leaves the result open we do
not: x / 0 and x % 0 are 0, INT64_MIN / -1 wraps to itself, a shift count is taken modulo 64.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Union

SIGNED, UNSIGNED, DOUBLE = "signed", "unsigned", "double"
Number = Union[int, float]
COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def common(left: str, right: str) -> str:
    """The type in which an operation on these two happens (C11 6.3.1.8, at 64 bits)."""
    return next(kind for kind in (DOUBLE, UNSIGNED, SIGNED) if kind in (left, right))


def convert(value: Number, kind: str) -> Number:
    """To one of the three types; an integer wraps around, a double is never asked to become an integer."""
    if kind == DOUBLE:
        return float(value)
    return wrap(int(value), 64, kind == SIGNED)


def wrap(value: int, bits: int, signed: bool) -> int:
    """The low ``bits`` of a number, as C reads them."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def negate(value: Number, kind: str) -> Number:
    return convert(-value, kind)


def arithmetic(op: str, left: Number, right: Number, kind: str) -> Number:
    """``left op right`` on operands that are of type ``kind`` already (a shift count: any integer)."""
    if kind == DOUBLE:
        return _on_doubles[op](float(left), float(right))
    return convert(_on_integers[op](int(left), int(right)), kind)


def _divide(left: int, right: int) -> int:
    """Towards zero, as C does."""
    quotient = abs(left) // abs(right) if right else 0
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - _divide(left, right) * right if right else 0


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


_on_integers: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "<<": lambda left, count: left << (count & 63),
    ">>": lambda left, count: left >> (count & 63),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_on_doubles: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide_doubles,
}
