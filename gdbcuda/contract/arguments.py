"""Arguments for a call of an API function: random where it does not matter, and memory for what pointers point to.

A hook library may look into what it is given. So a count is a small number, an enum has one of its values, a struct
begins with its version, and what is a pointer inside a struct leads to memory that can be read.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.contract.argument_kinds import is_count, is_device, is_function, is_number, is_plain, is_size, to_bytes
from gdbcuda.contract.program import DEVICES
from gdbcuda.ledger.effects import roles

GAP = 64  # bytes between two pieces of memory
WORD = 8
TEXT = b"a string of gdbcuda conform\0"
TEXT_AT, FIRST = 0, 512  # in the arena: memory that any pointer may lead to, and what is the call's own
PAGE = 1 << 12
LARGEST_SIZE = 1 << 12  # of what is allocated or copied
SMALL = 2  # elements of an array
EXTENTS = ("width", "height", "depth", "size", "bytesize", "ppitch")  # of memory: no limit refuses it
LARGEST_EXTENT = 64
VERSION_SHIFT = 24
OUT, IN, UNKNOWN = "out", "in", "unknown"
UNKNOWN_SIZE = 64


class CallerMemory(NamedTuple):
    """Memory of the caller's, ``offset`` bytes into the arena. ``after`` is what the driver writes there, "" where it
    only reads. ``direction``: of the parameter, or UNKNOWN where nobody has declared how much memory it leads to."""

    offset: int
    type: api.Type | None
    before: bytes
    after: bytes
    direction: str

    @property
    def is_read(self) -> bool:
        return self.direction not in (OUT, UNKNOWN)

    @property
    def is_known(self) -> bool:
        return self.direction != UNKNOWN


class Arguments(NamedTuple):
    """One for each parameter. What is no pointer, or a handle, has no pointee."""

    values: list[bytes]
    pointees: list[CallerMemory | None]

    @property
    def pokes(self) -> list[str]:
        """The commands that put there what its pointers lead to."""
        return [f"poke {one.offset:x} {one.before.hex()}" for one in self.pointees if one and one.before]

    def without(self, index: int) -> Arguments:
        """NULL instead of that pointer."""
        pointees = list(self.pointees)
        pointees[index] = None
        return self._replace(pointees=pointees).with_value(index, bytes(WORD))

    def with_value(self, index: int, value: bytes) -> Arguments:
        values = list(self.values)
        values[index] = value
        return self._replace(values=values)


class Making(NamedTuple):
    """``zeroed``: each second number of a struct is 0, for which the driver takes what is usual: the even ones (0) or
    the odd ones (1). ``further``: so many bytes into the arena the call's own memory begins. ``many`` elements has each
    array with a count, ``text`` is each string. ``is_apart``: what a driver may look at after the call, memory of
    which nobody knows what it is, lies on the arena's first page."""

    zeroed: int | None = None
    further: int = 0
    many: int = SMALL
    text: bytes = TEXT
    is_apart: bool = False


class ArgumentMaker:
    """``arena`` is its address in the program; ``table`` has the structs' versions."""

    def __init__(
        self, function: api.Function, dice: random.Random, arena: int, making: Making | None = None,
        table: api.Table | None = None,
    ) -> None:  # fmt: skip
        self.versions, self.making = struct_versions(table) if table else {}, making or Making()
        self.function, self.dice, self.arena = function, dice, arena
        self.counts = {parameter.length for parameter in function.parameters if parameter.length}
        self.used = self.lasting = FIRST + self.making.further
        if self.making.is_apart:
            self.used += PAGE
        role = roles.role(function)
        self.is_of_memory = role is not None and role.what == roles.ALLOC

    def make(self) -> Arguments:
        made = [self.argument(parameter) for parameter in self.function.parameters]
        return Arguments([value for value, _ in made], [pointee for _, pointee in made])

    def argument(self, parameter: api.Parameter) -> tuple[bytes, CallerMemory | None]:
        kind = parameter.type
        if kind.kind not in ("pointer", "array", "function"):
            return self.plain(parameter), None
        if parameter.type.opaque or kind.kind == "function" or is_function(kind):
            return self.dice.randbytes(WORD), None
        pointee = self.pointee(parameter) or self.unknown()
        return self.address(pointee.offset), pointee

    def unknown(self) -> CallerMemory:
        """Who takes it for an array of pointers can read what they point to."""
        return self.place(None, self.address(TEXT_AT) * (UNKNOWN_SIZE // WORD), b"", UNKNOWN, is_lasting=True)

    def plain(self, parameter: api.Parameter) -> bytes:
        """What is no pointer. A size is one that no limit refuses."""
        if parameter.name in self.counts:
            return to_bytes(self.making.many, parameter.type.size)
        if is_size(parameter):
            return to_bytes(self.dice.randrange(1, LARGEST_SIZE), parameter.type.size)
        return self.value(parameter.type, parameter.name)

    def address(self, offset: int) -> bytes:
        return (self.arena + offset).to_bytes(WORD, "little")

    def count(self, size: int) -> bytes:
        return SMALL.to_bytes(size, "little")

    # -- memory --------------------------------------------------------------------------------------------

    def pointee(self, parameter: api.Parameter) -> CallerMemory | None:
        """None for memory whose size nobody has declared."""
        target = parameter.type.target
        if target is None or target.kind == "function" or (target.incomplete and not parameter.length):
            return None
        if parameter.string and parameter.direction == IN:
            return self.place(None, self.making.text, b"", IN)
        if target.kind == "void":
            if parameter.length is None:
                return None
            return self.place(None, *self.both(None, parameter, self.making.many), parameter.direction, is_lasting=True)
        if target.kind == "pointer" and parameter.direction == IN and parameter.length is None:
            return None
        return self.place(target, *self.both(target, parameter, self.elements(parameter)), parameter.direction)

    def elements(self, parameter: api.Parameter) -> int:
        """Of an array; a length that is no sibling's is a number."""
        if parameter.type.kind == "array":
            return parameter.type.count or 1
        if parameter.length is None:
            return 1
        length = int(parameter.length) if parameter.length.isdecimal() else self.making.many
        size = parameter.type.target.size if parameter.type.target else 1
        return max(1, length // size) if parameter.length_unit == "bytes" else length

    def both(self, target: api.Type | None, parameter: api.Parameter, count: int) -> tuple[bytes, bytes]:
        """What is there before the call, and what the driver writes."""

        def one() -> bytes:
            if target is None:
                return self.dice.randbytes(1)
            if parameter.name in self.counts:
                return to_bytes(self.making.many, target.size)
            return self.value(target, parameter.name)

        before = b"".join(one() for _ in range(count))
        after = b"" if parameter.direction == IN else b"".join(one() for _ in range(count))
        after = after.replace(self.address(TEXT_AT), self.address(TEXT_AT + WORD))  # a pointer shows that it is written
        if target is not None and target.kind == "char" and after:
            after = after[:-1] + b"\0"
        if after == before and parameter.direction == OUT:
            before = bytes(byte ^ 0xFF for byte in before)  # or nobody saw that it is not written
        return before, after

    def place(
        self, target: api.Type | None, before: bytes, after: bytes, direction: str, is_lasting: bool = False
    ) -> CallerMemory:
        offset = self.lasting if is_lasting and self.making.is_apart else self.used
        end = (offset + len(before) + 2 * GAP) // GAP * GAP
        if is_lasting and self.making.is_apart:
            self.lasting = end
        else:
            self.used = end
        return CallerMemory(offset, target, before, after, direction)

    # -- values --------------------------------------------------------------------------------------------

    def value(self, kind: api.Type, name: str) -> bytes:
        """Of any type, as a program could have it. ``name`` is its parameter's or member's."""
        if kind.kind in ("struct", "union"):
            return self.record(kind)
        if kind.kind == "array" and kind.target is not None:
            return self.elements_of(kind.target, name, kind.count or 0)
        if kind.kind == "pointer":
            return self.dice.randbytes(WORD) if kind.opaque else self.address(TEXT_AT)
        if kind.enum is not None and kind.enum.values:
            return to_bytes(self.dice.choice(list(kind.enum.values.values())), kind.size)
        if kind.kind == "float":
            return self.dice.randbytes(kind.size - 1) + b"\x40"  # a number, neither infinite nor none
        if kind.kind == "bool":
            return bytes([self.dice.randrange(2)])
        if is_device(kind, name):
            return to_bytes(self.dice.randrange(DEVICES), kind.size)
        if is_count(name):
            return self.count(kind.size)
        if self.is_of_memory and name.lower() in EXTENTS:
            return to_bytes(self.dice.randrange(1, LARGEST_EXTENT), kind.size)
        return self.dice.randbytes(kind.size)

    def elements_of(self, kind: api.Type, name: str, count: int) -> bytes:
        """Of an array: some structs have 4,000 characters."""
        if is_plain(kind) and not is_device(kind, name) and not is_count(name):
            return self.dice.randbytes(kind.size * count)
        return b"".join(self.value(kind, name) for _ in range(count))

    def record(self, kind: api.Type) -> bytes:
        made = bytearray(kind.size)
        zeros = [] if self.making.zeroed is None else list(filter(is_number, kind.fields))[self.making.zeroed :: 2]
        for field in kind.fields if kind.kind == "struct" else kind.fields[:1]:
            if field.bit_width is None and field not in zeros:
                made[field.offset : field.offset + field.type.size] = self.value(field.type, field.name)
        if kind.fields and kind.fields[0].name == "version" and kind.fields[0].type.size == 4:
            made[:4] = self.version(kind).to_bytes(4, "little")
        return bytes(made)

    def version(self, kind: api.Type) -> int:
        """Of a struct of NVML's, whose size is in it: who looks at it refuses another one."""
        known = self.versions.get(re.sub(r"(_v\d+)?_t$", "", kind.spelling.split()[-1]), ())
        of_size = [value for value in known if value & ((1 << VERSION_SHIFT) - 1) == kind.size]
        return max(of_size, default=kind.size | 1 << VERSION_SHIFT)


@cache
def struct_versions(table: api.Table) -> Mapping[str, list[int]]:
    """The constants NAME_v1, NAME_v2, by NAME: a call has hundreds of structs, and there are thousands of constants."""
    found: dict[str, list[int]] = {}
    for name, value in table.constants.items():
        if versioned := re.fullmatch(r"(.+)_v\d+", name):
            found.setdefault(versioned[1], []).append(value)
    return found
