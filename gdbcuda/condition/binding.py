"""From a condition as written to the typed tree for one function, or to the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gdbcuda import api
from gdbcuda.condition import typed, words
from gdbcuda.condition.arithmetic import (
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
from gdbcuda.condition.grammar import syntax
from gdbcuda.condition.grammar.lexer import INT_MAX, Integer, Text
from gdbcuda.condition.grammar.show import show
from gdbcuda.condition.grammar.unknown import unknown
from gdbcuda.condition.pointees import Resolver, kind_of
from gdbcuda.condition.typed import Typed
from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError
from gdbcuda.machine import abi

WORDS = {"NULL": 0, "nullptr": 0, "true": 1, "false": 0}
BOOLEANS = (typed.Compare, typed.Logic, typed.Not, typed.Matches, typed.CallerIn, typed.Thread, typed.Count)


@dataclass(frozen=True)
class Bound:
    """A condition for one function: terms that all have to hold, each with its text, and then what counts."""

    terms: tuple[tuple[str, Typed], ...]
    count: typed.Count | None

    @property
    def tree(self) -> Typed:
        parts = [tree for _, tree in self.terms] + ([self.count] if self.count else [])
        tree: Typed = parts[0]
        for part in parts[1:]:
            tree = typed.Logic("&&", tree, part)
        return tree


def bind(tree: syntax.Node, function: api.Function, table: api.Table) -> Bound:
    """The typed terms; `UserError` with the parameters that exist, or with the types that do not fit."""
    binder = Binder(function, table)
    terms = syntax.conjunction(tree)
    counting = [term for term in terms if words.counts(term, binder.is_word)]
    others = [term for term in terms if term not in counting]
    bound = tuple((show(term), binder.as_boolean(term)) for term in others)
    return Bound(bound, words.count(counting, binder.is_word) if counting else None)


class Binder:
    def __init__(self, function: api.Function, table: api.Table) -> None:
        self.function = function
        self.table = table
        self.readable: dict[Typed, Typed] = {}  # bytes behind a pointer -> the test that they are there

    def is_word(self, name: str) -> bool:
        return self.function.parameter(name) is None

    def bind(self, node: syntax.Node) -> Typed:
        if isinstance(node, (Integer, float)):
            return typed.Constant(*syntax.number_of(node))
        if isinstance(node, Text):
            raise UserError(f"{show(node)} can only be compared (== or !=) with a string parameter")
        if isinstance(node, syntax.Name):
            return self.name(node)
        if isinstance(node, syntax.Path):
            return self.path(node)
        if isinstance(node, syntax.WrittenCallerIn):
            return typed.CallerIn(node.words)
        if isinstance(node, syntax.Counting):
            raise words.misplaced(node, node.word)
        return self.unary(node) if isinstance(node, syntax.WrittenUnary) else self.binary(node)

    # -- booleans

    def as_boolean(self, node: syntax.Node) -> Typed:
        """Where a number counts as true unless it is zero."""
        found = self.bind(node)
        return found if isinstance(found, BOOLEANS) else self.guarded(found)

    def guarded(self, test: Typed) -> Typed:
        """A comparison, or a number as a truth value, is false where it would read what is not there."""
        for part in dict.fromkeys(reads(test)):
            test = typed.Logic("&&", self.readable[part], test)
        return test

    # -- names

    def name(self, node: syntax.Name) -> Typed:
        for index, parameter in enumerate(self.function.parameters):
            if parameter.name == node.name:
                return self.argument(index, parameter)
        value = WORDS.get(node.name, self.table.constant(node.name))
        if value is None:
            raise unknown(node, self.function, self.table)
        return typed.Constant(value, UNSIGNED if value > INT_MAX else SIGNED)

    def path(self, node: syntax.Path) -> Typed:
        names = [parameter.name for parameter in self.function.parameters]
        if node.name.name not in names:
            raise unknown(node.name, self.function, self.table)
        found, readable = Resolver(node, self.function, names.index(node.name.name)).resolve()
        if readable is not None:
            self.readable[found] = readable
        return found

    def argument(self, index: int, parameter: api.Parameter) -> Typed:
        kind = parameter.type
        if kind.kind in ("struct", "union"):
            raise UserError(
                f"{parameter.name} of {self.function.symbol} is a {kind.kind} ({kind.name}); "
                f"a condition takes one of its members: {', '.join(field.name for field in kind.fields)}"
            )
        return typed.Argument(parameter.name, index, kind.size, abi.is_signed(kind), kind_of(kind))

    # -- operations

    def unary(self, node: syntax.WrittenUnary) -> Typed:
        operand = self.bind(node.operand)
        if node.op == "+":
            return operand
        if node.op == "!":
            return self.guarded(typed.Not(operand))
        if node.op == "~" and operand.kind == DOUBLE:
            raise UserError(f"~ does not work on a fraction: {show(node)}")
        if isinstance(operand, typed.Constant):
            value = negate(operand.value, operand.kind) if node.op == "-" else ~int(operand.value)
            return typed.Constant(convert(value, operand.kind), operand.kind)
        return typed.Unary(node.op, operand, operand.kind)

    def binary(self, node: syntax.Binary) -> Typed:
        if isinstance(node.left, Text) or isinstance(node.right, Text):
            return self.string_comparison(node)
        if node.op in ("&&", "||"):
            return typed.Logic(node.op, self.as_boolean(node.left), self.as_boolean(node.right))
        if node.op in COMPARISONS:
            return self.comparison(node)
        left, right = self.bind(node.left), self.bind(node.right)
        if DOUBLE in (left.kind, right.kind) and node.op not in ("+", "-", "*", "/"):
            raise UserError(f"{node.op} does not work on a fraction: {show(node)}")
        if node.op in ("<<", ">>"):
            return folded(typed.Arithmetic(node.op, left, right, left.kind))
        kind = common(left.kind, right.kind)
        return folded(typed.Arithmetic(node.op, converted(left, kind), converted(right, kind), kind))

    def comparison(self, node: syntax.Binary) -> Typed:
        word = words.compared(node, self.is_word)
        if word is not None:
            return words.thread(*word)
        left, right = self.bind(node.left), self.bind(node.right)
        self.refuse_impossible(node, left, right)
        kind = common(left.kind, right.kind)
        return self.guarded(typed.Compare(node.op, converted(left, kind), converted(right, kind)))

    def refuse_impossible(self, node: syntax.Binary, left: Typed, right: Typed) -> None:
        """``Flags == -1`` looks right, and would never stop where Flags is an unsigned int."""
        if isinstance(left, typed.Constant):
            named, value, constant = node.right, right, left
        elif isinstance(right, typed.Constant):
            named, value, constant = node.left, left, right
        else:
            return
        if not isinstance(value, (typed.Argument, typed.Pointee)):
            return
        if node.op not in ("==", "!="):
            if value.kind == UNSIGNED and constant.kind == SIGNED and constant.value < 0:
                raise UserError(f"{show(named)} of {self.function.symbol} is never negative: it is unsigned")
        elif not can_be(value, constant):
            why = f"it has {8 * value.size} bits, {'signed' if value.is_signed else 'unsigned'}"
            if isinstance(named, syntax.Name) and isinstance(value, typed.Argument):
                why = f"it is of type {self.function.parameters[value.index].type.name}"
            raise UserError(f"{show(named)} of {self.function.symbol} is never {constant.value}: {why}")

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


def reads(test: Typed) -> Iterator[typed.Pointee]:
    """The bytes behind pointers that this test looks at, those of the tests inside it aside."""
    if isinstance(test, typed.Pointee):
        yield test
    operands = getattr(test, "operand", None), getattr(test, "left", None), getattr(test, "right", None)
    for operand in operands:
        if operand is not None and not isinstance(operand, BOOLEANS):
            yield from reads(operand)


def can_be(value: typed.Argument | typed.Pointee, constant: typed.Constant) -> bool:
    """Whether the constant is in the range of a narrow integer; wide ones and fractions are not looked at."""
    if DOUBLE in (value.kind, constant.kind) or value.size == abi.WORD:
        return True
    return wrap(int(constant.value), 8 * value.size, value.is_signed) == constant.value


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
