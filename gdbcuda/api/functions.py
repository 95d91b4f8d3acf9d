"""The functions of the API: a prototype from the headers, and what the notes add to it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gdbcuda.api.notes import ApiNotes, FunctionNotes, ParameterNotes
from gdbcuda.api.spelling import Types
from gdbcuda.api.types import Type
from gdbcuda.text.patterns import pattern

SUFFIX = pattern(r"(_v\d+)?(_pt[sd][zs])?$")
STREAM_SUFFIXES = ("_ptsz", "_ptds")


@lru_cache(maxsize=8192)  # asked for each call of a log
def base_name(symbol: str) -> str:
    """The name without version and stream suffix: cuMemcpyHtoDAsync_v2_ptsz -> cuMemcpyHtoDAsync."""
    return SUFFIX.sub("", symbol)


def suffix_order(symbol: str) -> tuple[str, int, str]:
    """Sorts the variants of a base name: no suffix first, then _v2, _v3 …, per-thread streams last."""
    match = SUFFIX.search(symbol)
    version, stream = match.groups() if match else (None, None)
    return base_name(symbol), int((version or "_v1")[2:]), stream or ""


class Parameter(NamedTuple):
    """One parameter; what the notes say, or what its C type lets one conclude."""

    name: str
    type: Type
    notes: ParameterNotes

    @property
    def direction(self) -> str:
        """ "in", "out" (the function writes what it points to, never reads it) or "inout"."""
        return self.notes.direction or default_direction(self.type)

    @property
    def length(self) -> str | None:
        """The sibling that holds the number of elements (or bytes) of this array, or a number."""
        return self.notes.length

    @property
    def length_unit(self) -> str:
        return self.notes.length_unit

    @property
    def string(self) -> bool:
        """A NUL-terminated string: read, written into this buffer, or (char **) its address written."""
        return is_text(self.type) if self.notes.string is None else self.notes.string

    @property
    def flags(self) -> str | None:
        """What `Table.flags` turns into the constants whose bits make up the value."""
        return self.notes.flags

    @property
    def named(self) -> str | None:
        """How the constants begin by which the header calls the values, instead of by the enum's."""
        return self.notes.named

    @property
    def handle(self) -> bool:
        """An opaque handle, or (for an out-parameter) the place where one is written."""
        target = self.type.target
        return self.notes.handle or self.type.opaque or (target is not None and target.opaque)

    @property
    def size_bytes(self) -> bool:
        """The value, or the value it points to, is a number of bytes."""
        return self.notes.size_bytes

    @property
    def optional(self) -> bool:
        """Who does not want what is written there passes NULL."""
        return self.notes.optional

    @property
    def lasting(self) -> bool:
        """Who asks again for the same gets the same: it is about what a device is."""
        return self.notes.lasting

    @property
    def block(self) -> bool:
        """The block of memory that an allocator hands out or a free takes."""
        return self.notes.block


class Function:
    """One exported function of the runtime, driver or NVML API."""

    def __init__(self, symbol: str, api: str, text: str, types: Types, notes: ApiNotes) -> None:
        self.symbol = symbol
        self.api = api
        self.text = text
        self._types = types
        self._notes = notes
        self._result, *self._parameters = text.split(";")
        self._built: tuple[Parameter, ...] | None = None

    def __repr__(self) -> str:
        return f"<Function {self.symbol}>"

    def __str__(self) -> str:
        """The C prototype."""
        parameters = ", ".join(declare(p.type.spelling, p.name) for p in self.parameters)
        return f"{declare(self.result.spelling, self.symbol)}({parameters or 'void'})"

    @property
    def base(self) -> str:
        return base_name(self.symbol)

    @property
    def result(self) -> Type:
        return self._types[self._result]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        if self._built is None:
            self._built = tuple(self._parameter(*text.split(" ", 1)) for text in self._parameters)
        return self._built

    def _parameter(self, name: str, spelling: str) -> Parameter:
        return Parameter(name, self._types[spelling], self.notes.parameter(name))

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def notes(self) -> FunctionNotes:
        return self._notes.of(self.symbol, self.base)

    @property
    def role(self) -> str:
        """What the function is about ("alloc", "copy", "stream" …; the list is in notes.txt), or ""."""
        return self.notes.role

    @property
    def released_by(self) -> tuple[str, ...]:
        """For an allocator: base names of the functions that give its block back."""
        return self.notes.released_by

    @property
    def releases(self) -> tuple[str, ...]:
        """For a free: base names of the allocators whose blocks it takes."""
        return self._notes.releases(self.base)


def declare(spelling: str, name: str) -> str:
    """A C declaration: ("char[8]", "x") -> "char x[8]", ("void (*)(int)", "f") -> "void (*f)(int)"."""
    if "(*)" in spelling:
        return spelling.replace("(*)", f"(*{name})", 1)
    base, bracket, dimensions = spelling.partition("[")
    return f"{base}{'' if base.endswith('*') else ' '}{name}{bracket}{dimensions}"


def default_direction(ctype: Type) -> str:
    """A pointer to something that the function may write and that is not itself a block of memory is
    where a result goes; an NVML struct whose first member is `version` is read first."""
    target = ctype.target
    if ctype.kind != "pointer" or target is None or target.const or target.incomplete:
        return "in"
    if target.kind in ("void", "function"):
        return "in"
    if target.kind == "struct" and target.fields and target.fields[0].name == "version":
        return "inout"
    return "out"


def is_text(ctype: Type) -> bool:
    """const char * and const char **"""
    target = ctype.target
    if ctype.kind != "pointer" or target is None:
        return False
    return (target.kind == "char" and target.const) or (not target.const and is_text(target))
