"""The C types of the API: sizes, fields, enum values, built from the table's text only when asked for.

Everything is LP64 little endian; x86-64 and aarch64 agree on every size and offset here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from gdbcuda.text.patterns import pattern

TAG = pattern(r"\b(struct|union|enum) ")


FEWEST_BITS = 3  # with 1 and 2 alone nobody knows whether 3 is both or neither


class Enum:
    """An enum, or a group of flag macros: `values` in the order of the header. ``is_bits``: each of them is a bit."""

    def __init__(self, name: str, values: Mapping[str, int]) -> None:
        self.name = name
        self.values = values
        self._names: dict[int, str] = {}
        for constant, value in values.items():
            self._names.setdefault(value, constant)
        bits = {value for value in self._names if value & 0x7FFFFFFF not in (0, 0x7FFFFFFF)}
        self.is_bits = len(bits) >= FEWEST_BITS and not any(value & (value - 1) for value in bits)

    def __repr__(self) -> str:
        return f"<Enum {self.name}>"

    def name_of(self, value: int) -> str | None:
        """The first constant of that value; signed and unsigned spellings of 32 bits are the same."""
        name = self._names.get(value)
        if name is None and value < 0:
            return self._names.get(value + (1 << 32))
        if name is None and value >> 31 == 1:
            return self._names.get(value - (1 << 32))
        return name

    def names_of_flags(self, value: int) -> list[str] | None:
        """The constants whose bits make up the value, lowest first; None if a bit has no name."""
        exact = self.name_of(value)
        if exact is not None:
            return [exact]
        bits = [1 << n for n in range(value.bit_length()) if value >> n & 1] if value > 0 else []
        names = [self._names.get(bit) for bit in bits]
        if None in names:
            return None
        return [name for name in names if name] or ([] if value == 0 else None)


class Field(NamedTuple):
    """A member of a struct or union. For a bit field `offset` is the byte offset of the integer of its
    type that holds it, and `bit_offset` counts from that integer's lowest bit. An anonymous struct or
    union has the name ""."""

    name: str
    offset: int
    type: Type
    bit_offset: int | None = None
    bit_width: int | None = None


class Spelled(Protocol):
    """The types of a table, by their spelling."""

    def get(self, spelling: str) -> Type | None: ...
    def __getitem__(self, spelling: str) -> Type: ...


class Type:
    """A C type. `name` is what the API calls it without struct, union and enum; kind, size and fields are
    those behind the typedefs. An opaque handle is a pointer to a struct that is `incomplete`.

    `kind`: void bool char int uint float pointer array enum struct union function
    """

    __slots__ = ("_fields", "_members", "_name", "_target", "_types", "align", "const", "count", "enum", "kind",
                 "parameters", "size", "spelling")  # fmt: skip

    def __init__(
        self,
        types: Spelled,
        spelling: str,
        kind: str,
        size: int = 0,
        align: int = 1,
        *,
        const: bool = False,
        target: str | None = None,
        count: int | None = None,
        enum: Enum | None = None,
        members: str = "",
        parameters: tuple[str, ...] = (),
    ) -> None:
        self.spelling, self.kind, self.size, self.align, self.const = spelling, kind, size, align, const
        self.count, self.enum, self.parameters = count, enum, parameters
        self._types, self._target, self._members = types, target, members
        self._fields: tuple[Field, ...] | None = None
        self._name = ""

    def __repr__(self) -> str:
        return f"<Type {self.spelling}>"

    @property
    def name(self) -> str:
        if not self._name:
            is_of_value = self.const and self.kind != "pointer"
            self._name = TAG.sub("", self.spelling.replace("const ", "", 1) if is_of_value else self.spelling)
        return self._name

    @property
    def target(self) -> Type | None:
        """What a pointer points to, the element of an array, the result of a function."""
        return self._types.get(self._target) if self._target is not None else None

    @property
    def incomplete(self) -> bool:
        return self.kind in ("struct", "union") and self.size == 0

    @property
    def opaque(self) -> bool:
        """Whether this is a handle: a pointer that says nothing about what it points to."""
        return self.kind == "pointer" and self.target is not None and self.target.incomplete

    @property
    def fields(self) -> tuple[Field, ...]:
        if self._fields is None:
            self._fields = tuple(self._read_fields()) if self._members else ()
        return self._fields

    def _read_fields(self) -> Iterator[Field]:
        for text in self._members.split(";"):
            place, name, spelling = text.split(" ", 2)
            offset, *bits = [int(number) for number in place.split(".")]
            yield Field(name, offset, self._types[spelling], *bits)
