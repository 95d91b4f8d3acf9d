"""From ``s.x``, ``*p``, ``p[2]`` and ``p->x.y`` to bytes: where the API guarantees that they are there.

What guarantees it behind a pointer: the function reads the parameter (in or inout), its type says what it points to,
and the notes how many elements there are. A pointer may be NULL all the same, and an array shorter than the index: the
test for that goes with the bytes, and is made before they are read.
"""

from __future__ import annotations

from typing import NoReturn

from gdbcuda import api
from gdbcuda.condition import typed
from gdbcuda.condition.arithmetic import DOUBLE, SIGNED, UNSIGNED
from gdbcuda.condition.grammar import syntax
from gdbcuda.condition.grammar.parser import ONE_LEVEL
from gdbcuda.condition.grammar.unknown import alike
from gdbcuda.condition.typed import Typed
from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError
from gdbcuda.machine import abi

FRACTIONS = (4, 8)
NULL = typed.Constant(0, UNSIGNED)


@dataclass
class Spot:
    """Bytes of something, and their type."""

    offset: int
    type: api.Type


def kind_of(kind: api.Type) -> str:
    """The type in which a value takes part in operations."""
    if kind.kind == "float":
        return DOUBLE
    return UNSIGNED if kind.size == abi.WORD and not abi.is_signed(kind) else SIGNED


class Resolver:
    """For one path and one function."""

    def __init__(self, path: syntax.Path, function: api.Function, index: int) -> None:
        self.path, self.function, self.index = path, function, index
        self.parameter = function.parameters[index]

    def refuse(self, why: str) -> NoReturn:
        raise UserError(f"column {self.path.column}: {why}")

    @property
    def what(self) -> str:
        return f"{self.parameter.name} of {self.function.symbol}"

    def resolve(self) -> tuple[Typed, Typed | None]:
        """The bytes, and the test that has to be true before they are read."""
        first, *steps = self.path.steps
        kind = self.parameter.type
        if isinstance(first, str):
            return self.part(self.inside(Spot(0, kind), [first, *steps])), None
        if kind.kind not in ("pointer", "array"):
            self.refuse(f"{self.what} is of type {kind.name}, which points to nothing")
        element = self.element()
        spot = self.inside(Spot(first * element.size, element), steps)
        return self.pointee(spot), self.readable(first, element)

    def part(self, spot: Spot) -> typed.Argument:
        """Of a struct that is passed by value."""
        self.refuse_whole(spot.type)
        size, is_signed = spot.type.size, abi.is_signed(spot.type)
        return typed.Argument(self.parameter.name, self.index, size, is_signed, kind_of(spot.type), spot.offset)

    def pointee(self, spot: Spot) -> typed.Pointee:
        self.refuse_whole(spot.type)
        return typed.Pointee(self.pointer(), spot.offset, spot.type.size, abi.is_signed(spot.type), kind_of(spot.type))

    def element(self) -> api.Type:
        """What the parameter points to."""
        element = self.parameter.type.target
        if self.parameter.direction == "out":
            self.refuse(f"{self.what} is written by the function: nothing is there yet when it is entered")
        if element is None or element.kind in ("void", "function"):
            self.refuse(f"{self.what} is of type {self.parameter.type.spelling}: what is there is not known")
        if element.incomplete:
            self.refuse(f"{self.what} is a handle ({self.parameter.type.name}): what is there is not known")
        if element.kind == "pointer" and self.parameter.length is None and self.parameter.direction == "in":
            self.refuse(f"how many pointers {self.what} points to is not known, maybe none")
        return element

    def pointer(self) -> typed.Argument:
        return typed.Argument(self.parameter.name, self.index, abi.WORD, False, UNSIGNED)

    # -- members

    def inside(self, spot: Spot, steps: list[int | str]) -> Spot:
        for step in steps:
            spot = self.member(spot, step) if isinstance(step, str) else self.item(spot, step)
        return spot

    def item(self, spot: Spot, index: int) -> Spot:
        if spot.type.kind == "pointer":
            self.refuse(ONE_LEVEL)
        if spot.type.kind != "array" or spot.type.target is None:
            self.refuse(f"[{index}] is for an array, not for {spot.type.spelling}")
        if index >= (spot.type.count or 0):
            self.refuse(f"[{index}] is behind the end of {spot.type.spelling}")
        return Spot(spot.offset + index * spot.type.target.size, spot.type.target)

    def member(self, spot: Spot, name: str) -> Spot:
        if spot.type is self.parameter.type and spot.type.kind == "pointer":
            self.refuse(f"{self.what} is a pointer: write -> instead of .")
        if spot.type.kind == "pointer":
            self.refuse(ONE_LEVEL)
        if spot.type.kind not in ("struct", "union"):
            self.refuse(f"{spot.type.spelling} has no members")
        members = dict(fields(spot.type))
        if name not in members:
            near = " or ".join(alike(name, members))
            meant = f"; did you mean {near}?" if near else ""
            self.refuse(f'{spot.type.name} has no member "{name}"; it has {", ".join(members)}{meant}')
        found = members[name]
        if found.bit_offset is not None:
            self.refuse(f"{name} is a bit field")
        return Spot(spot.offset + found.offset, found.type)

    def refuse_whole(self, kind: api.Type) -> None:
        if kind.kind in ("struct", "union"):
            names = ", ".join(dict(fields(kind)))
            self.refuse(f"this is a {kind.kind} ({kind.name}); a condition takes one of its members: {names}")
        if kind.kind == "array":
            self.refuse(f"this is an array ({kind.spelling}); a condition takes one element, as in [0]")
        if kind.size not in (1, 2, 4, 8) or (kind.kind == "float" and kind.size not in FRACTIONS):
            self.refuse(f"a condition takes no {kind.spelling}")

    # -- what has to be true

    def readable(self, index: int, element: api.Type) -> Typed:
        there = typed.Compare("!=", self.pointer(), NULL)
        if self.parameter.string:
            return self.before_the_end(there, index)
        length = self.parameter.length
        if length is None or length.isdecimal():
            self.refuse_behind(index, int(length or 1), element)
            return there
        return typed.Logic("&&", there, self.long_enough(length, index, element))

    def refuse_behind(self, index: int, count: int, element: api.Type) -> None:
        if index >= count:
            elements = f"{count} {element.name}" if count > 1 else f"one {element.name}"
            self.refuse(f"{self.what} points to {elements}, as far as is known")

    def before_the_end(self, there: Typed, index: int) -> Typed:
        """No character of the string before this one is its end."""
        for before in range(index):
            character = typed.Pointee(self.pointer(), before, 1, True, SIGNED)
            there = typed.Logic("&&", there, typed.Compare("!=", character, typed.Constant(0, SIGNED)))
        return there

    def long_enough(self, length: str, index: int, element: api.Type) -> Typed:
        """The parameter that says how many elements (or bytes) there are says enough."""
        is_bytes = self.parameter.length_unit == "bytes"
        needed = (index + 1) * element.size if is_bytes else index + 1
        for at, parameter in enumerate(self.function.parameters):
            if parameter.name == length and parameter.type.kind == "pointer":
                return self.long_enough_there(at, needed)
            if parameter.name == length:
                kind = parameter.type
                value = typed.Argument(length, at, kind.size, abi.is_signed(kind), kind_of(kind))
                return typed.Compare(">=", value, typed.Constant(needed, value.kind))
        self.refuse(f"how many elements {self.what} has is not known")

    def long_enough_there(self, at: int, needed: int) -> Typed:
        length = Resolver(syntax.Path(self.path.name, (0,), self.path.column), self.function, at)
        if length.parameter.direction == "out":
            self.refuse(f"how many elements {self.what} has is not known yet when the function is entered")
        value, there = length.resolve()
        assert there is not None
        return typed.Logic("&&", there, typed.Compare(">=", value, typed.Constant(needed, value.kind)))


def fields(kind: api.Type, offset: int = 0) -> list[tuple[str, api.Field]]:
    """The members by name, those of anonymous structs and unions among them, with offsets from the whole."""
    found = []
    for member in kind.fields:
        moved = member._replace(offset=offset + member.offset)
        found += [(member.name, moved)] if member.name else fields(member.type, moved.offset)
    return found
