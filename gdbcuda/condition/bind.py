"""From a condition as written to the typed tree for one function, or to the reason why there is none."""

from __future__ import annotations

import math
from functools import cache

from gdbcuda import abi, api
from gdbcuda.condition import syntax, typed
from gdbcuda.condition.lexer import INT_MAX, Integer, Text
from gdbcuda.condition.numbers import (
    COMPARISONS,
    DOUBLE,
    SIGNED,
    UNSIGNED,
    arithmetic,
    common,
    convert,
    negate,
    wrap,
)
from gdbcuda.condition.typed import Typed
from gdbcuda.errors import UserError

WORDS = {"NULL": 0, "nullptr": 0, "true": 1, "false": 0}
ON_ENTRY = "a condition is looked at when the function is entered"
RESULTS = ("result", "error")


def bind(tree: syntax.Node, function: api.Function, table: api.Table) -> Typed:
    """The typed tree; `UserError` with the parameters that exist, or with the types that do not fit."""
    return Binder(function, table).bind(tree)


class Binder:
    def __init__(self, function: api.Function, table: api.Table) -> None:
        self.function = function
        self.table = table

    def bind(self, node: syntax.Node) -> Typed:
        if isinstance(node, (Integer, float)):
            return typed.Constant(*syntax.number_of(node))
        if isinstance(node, Text):
            raise UserError(f"{syntax.show(node)} can only be compared (== or !=) with a string parameter")
        if isinstance(node, syntax.Name):
            return self.name(node)
        return self.unary(node) if isinstance(node, syntax.Unary) else self.binary(node)

    def name(self, node: syntax.Name) -> Typed:
        for index, parameter in enumerate(self.function.parameters):
            if parameter.name == node.name:
                return self.argument(index, parameter)
        value = WORDS.get(node.name, self.table.constant(node.name))
        if value is None:
            raise self.unknown(node.name)
        return typed.Constant(value, UNSIGNED if value > INT_MAX else SIGNED)

    def argument(self, index: int, parameter: api.Parameter) -> Typed:
        kind = parameter.type
        if kind.kind in ("struct", "union"):
            raise UserError(
                f"{parameter.name} of {self.function.symbol} is a {kind.kind} ({kind.name}); "
                "a condition takes numbers, enums, pointers and strings"
            )
        if kind.kind == "float":
            return typed.Argument(parameter.name, index, kind.size, True, DOUBLE)
        widened = UNSIGNED if kind.size == abi.WORD and not abi.is_signed(kind) else SIGNED
        return typed.Argument(parameter.name, index, kind.size, abi.is_signed(kind), widened)

    def unknown(self, name: str) -> UserError:
        """The reason why a name means nothing here."""
        if name in RESULTS:
            return UserError(f"{ON_ENTRY}: there is no {name} yet (--on error stops at an error)")
        if name in syntax.LATER:
            return UserError(syntax.LATER[name])
        names = ", ".join(parameter.name for parameter in self.function.parameters)
        has = f'has no parameter "{name}"; it has {names}' if names else f'has no parameters, so no "{name}"'
        near = " or ".join(nearest_constants(name, self.table))
        return UserError(f"{self.function.symbol} {has}" + (f"; or did you mean {near}?" if near else ""))

    def unary(self, node: syntax.Unary) -> Typed:
        operand = self.bind(node.operand)
        if node.op == "+":
            return operand
        if node.op == "!":
            return typed.Not(operand)
        if node.op == "~" and operand.kind == DOUBLE:
            raise UserError(f"~ does not work on a fraction: {syntax.show(node)}")
        if isinstance(operand, typed.Constant):
            value = negate(operand.value, operand.kind) if node.op == "-" else ~int(operand.value)
            return typed.Constant(convert(value, operand.kind), operand.kind)
        return typed.Unary(node.op, operand, operand.kind)

    def binary(self, node: syntax.Binary) -> Typed:
        if isinstance(node.left, Text) or isinstance(node.right, Text):
            return self.string_comparison(node)
        left, right = self.bind(node.left), self.bind(node.right)
        if node.op in ("&&", "||"):
            return typed.Logic(node.op, left, right)
        if node.op in COMPARISONS:
            self.refuse_impossible(node, left, right)
            kind = common(left.kind, right.kind)
            return typed.Compare(node.op, converted(left, kind), converted(right, kind))
        if DOUBLE in (left.kind, right.kind) and node.op not in ("+", "-", "*", "/"):
            raise UserError(f"{node.op} does not work on a fraction: {syntax.show(node)}")
        if node.op in ("<<", ">>"):
            return folded(typed.Arithmetic(node.op, left, right, left.kind))
        kind = common(left.kind, right.kind)
        return folded(typed.Arithmetic(node.op, converted(left, kind), converted(right, kind), kind))

    def refuse_impossible(self, node: syntax.Binary, left: Typed, right: Typed) -> None:
        """``Flags == -1`` looks right, and would never stop where Flags is an unsigned int."""
        argument, constant = (left, right) if isinstance(left, typed.Argument) else (right, left)
        if node.op not in ("==", "!=") or not isinstance(constant, typed.Constant):
            return
        if isinstance(argument, typed.Argument) and not can_be(argument, constant):
            kind = self.function.parameters[argument.index].type
            name = f"{argument.name} of {self.function.symbol}"
            raise UserError(f"{name} is never {constant.value}: it is of type {kind.name}")

    def string_comparison(self, node: syntax.Binary) -> Typed:
        sides = node.left, node.right
        name, text = sides[::-1] if isinstance(node.left, Text) else sides
        if node.op not in ("==", "!="):
            raise UserError(f"column {node.column}: strings can only be compared with == and !=")
        if not isinstance(name, syntax.Name) or not isinstance(text, Text):
            raise UserError(f"column {node.column}: a string can only be compared with a parameter")
        index, parameter = self.string_parameter(name)
        found = typed.Matches(parameter.name, index, text.value.encode(), text.prefix)
        return found if node.op == "==" else typed.Not(found)

    def string_parameter(self, name: syntax.Name) -> tuple[int, api.Parameter]:
        argument = self.name(name)
        if isinstance(argument, typed.Constant):
            raise UserError(f"{name.name} is a number; it cannot be compared with a string")
        assert isinstance(argument, typed.Argument)
        parameter = self.function.parameters[argument.index]
        if not parameter.string or parameter.direction != "in":
            what = f"{parameter.name} of {self.function.symbol} is no string on entry"
            raise UserError(f"{what} ({parameter.type.spelling}); it cannot be compared with one")
        return argument.index, parameter


def can_be(argument: typed.Argument, constant: typed.Constant) -> bool:
    """Whether the constant is in the range of a narrow integer; wide ones and fractions are not looked at."""
    if argument.kind == DOUBLE or constant.kind == DOUBLE or argument.size == abi.WORD:
        return True
    return wrap(int(constant.value), 8 * argument.size, argument.is_signed) == constant.value


@cache  # a glob asks once for each of some hundred functions
def nearest_constants(name: str, table: api.Table) -> list[str]:
    from difflib import get_close_matches  # only for an error message, and slow to import

    return get_close_matches(name, [*table.constants], 2, 0.85)


def converted(node: Typed, kind: str) -> Typed:
    if node.kind == kind:
        return node
    if isinstance(node, typed.Constant):
        return typed.Constant(convert(node.value, kind), kind)
    return typed.Convert(node, kind)


def folded(node: typed.Arithmetic) -> Typed:
    if isinstance(node.left, typed.Constant) and isinstance(node.right, typed.Constant):
        value = arithmetic(node.op, node.left.value, node.right.value, node.kind)
        return typed.Constant(value, node.kind) if math.isfinite(value) else node
    return node
