"""The value of an adapter's expression in the process: its names are the library's variables, never those of a frame.

(gdb manual: "Values From Inferior", "Symbols In Python", "Objfiles In Python".)
"""

from __future__ import annotations

import operator
from functools import singledispatch
from typing import Any, Callable, NamedTuple

import gdb

from gdbcuda.adapter import expression
from gdbcuda.adapter.adapter_file import Formula
from gdbcuda.adapter.expression import Tree
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import process
from gdbcuda.live.host import expressions

UNARY: dict[str, Callable[[Any], Any]] = {
    "*": lambda value: value.dereference(), "&": lambda value: value.address, "-": operator.neg, "~": operator.invert,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "<<": operator.lshift, ">>": operator.rshift,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod,
}  # fmt: skip
CURRENT = "unsigned long"
MOST_AT_ONCE = 1 << 16  # bytes
MOST_SUMMED = 4096  # elements of an array


class AskedOf(NamedTuple):
    """The library that is asked, and the number of the device that it is asked about."""

    objfile: gdb.Objfile
    device: int
    each: int = 0  # element of an array that is summed up


def number(formula: Formula, hook: str, device: int = 0) -> int:
    """UserError where it has no value here."""
    return as_number(formula, value(formula, hook, device))


def numbers(formula: Formula, hook: str, devices: int) -> list[int]:
    """Of the first so many devices. They mostly lie side by side: each by itself is a packet through gdbserver."""
    return [as_number(formula, one) for one in read_at_once([value(formula, hook, each) for each in range(devices)])]


def read_at_once(found: list[gdb.Value]) -> list[gdb.Value]:
    """The same values, which were not read yet, out of one piece of memory; as they are where that is no use."""
    places = [int(one.address) for one in found if one.is_lazy and one.address is not None]
    if len(places) < max(len(found), 2):
        return found
    low, high = min(places), max(place + one.type.sizeof for place, one in zip(places, found))
    if high - low > MOST_AT_ONCE:
        return found
    try:
        data = process.InferiorMemory().read(low, high - low)
    except Unreadable:
        return found
    return [gdb.Value(data[place - low : place - low + one.type.sizeof], one.type) for place, one in zip(places, found)]


def as_number(formula: Formula, found: gdb.Value) -> int:
    try:
        return int(found)
    except (gdb.error, OverflowError) as problem:
        raise UserError(f"{formula.text}: {said(problem)}") from None


def address(formula: Formula, hook: str) -> int:
    """Of what a pointer leads to, or of what is no pointer."""
    found = value(formula, hook, 0)
    try:
        is_pointer = found.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
        place = found if is_pointer or found.address is None else found.address
        return int(place.cast(expressions.c_type(CURRENT)))
    except gdb.error as problem:
        raise UserError(f"{formula.text}: {said(problem)}") from None


def value(formula: Formula, hook: str, device: int) -> gdb.Value:
    objfile = process.objfile_of(hook)
    if objfile is None:
        raise UserError("the hook library is not loaded yet" if process.is_alive() else "the program does not run")
    try:
        found = of(formula.tree, AskedOf(objfile, device))
        return found if isinstance(found, gdb.Value) else gdb.Value(found)
    except (gdb.error, gdb.MemoryError, TypeError, ValueError, ZeroDivisionError) as problem:
        raise UserError(f"{formula.text}: {said(problem)}") from None


def said(problem: BaseException) -> str:
    return str(problem).partition("\n")[0]


@singledispatch
def of(tree: Any, asked: AskedOf) -> Any:
    raise TypeError(tree)


@of.register
def _(tree: expression.Number, asked: AskedOf) -> Any:
    return gdb.Value(tree.value)


@of.register
def _(tree: expression.DeviceNumber, asked: AskedOf) -> Any:
    return gdb.Value(asked.device)


@of.register
def _(tree: expression.Variable, asked: AskedOf) -> Any:
    symbol = symbol_of(tree, asked.objfile)
    if symbol is None:
        raise ValueError(f"no variable {tree.name} in it, or no debug info of it")
    return symbol.value()


@of.register
def _(tree: expression.MemberTerm, asked: AskedOf) -> Any:
    found = of(tree.of, asked)
    return (found.dereference() if tree.is_pointer else found)[tree.name]


@of.register
def _(tree: expression.ElementTerm, asked: AskedOf) -> Any:
    return of(tree.of, asked)[of(tree.index, asked)]


@of.register
def _(tree: expression.EachNumber, asked: AskedOf) -> Any:
    return gdb.Value(asked.each)


@of.register
def _(tree: expression.SumTerm, asked: AskedOf) -> Any:
    count = elements(of(tree.array, asked)) if tree.count is None else int(of(tree.count, asked))
    if count > MOST_SUMMED:
        raise ValueError(f"a sum of {count} elements: at most {MOST_SUMMED}")
    return gdb.Value(sum(map(int, read_at_once([of(tree.of, asked._replace(each=each)) for each in range(count)]))))


def elements(array: gdb.Value) -> int:
    kind = array.type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_ARRAY:
        raise ValueError("what [..] stands behind is no array: [..COUNT] says how many elements it has")
    return int(kind.range()[1]) + 1


@of.register
def _(tree: expression.UnaryTerm, asked: AskedOf) -> Any:
    return UNARY[tree.sign](of(tree.of, asked))


@of.register
def _(tree: expression.BinaryTerm, asked: AskedOf) -> Any:
    return BINARY[tree.sign](of(tree.left, asked), of(tree.right, asked))


def symbol_of(tree: Tree, objfile: gdb.Objfile) -> gdb.Symbol | None:
    assert isinstance(tree, expression.Variable)
    if not tree.file:
        return objfile.lookup_static_symbol(tree.name) or objfile.lookup_global_symbol(tree.name)
    for symbol in gdb.lookup_static_symbols(tree.name):
        if symbol.symtab.objfile == objfile and symbol.symtab.filename.rpartition("/")[2] == tree.file:
            return symbol
    return None
