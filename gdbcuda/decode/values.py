"""From a type to a function that shows bytes of that type; nothing here reads the program's memory.

Such functions are made once for a type and then only run, for a call is decoded while the program waits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Optional

from gdbcuda import api
from gdbcuda.decode import special
from gdbcuda.decode.value_text import ELEMENT_LIMIT, ELLIPSIS, Decoded, address, binary, in_brackets, quoted
from gdbcuda.machine import abi
from gdbcuda.text.units import human

Show = Callable[[bytes], Decoded]
DEPTH = 3  # structs in structs
TEXT_LIMIT = 500  # characters, after which an array shows no more elements
UNKNOWN_SIZE = (1 << 64) - 1  # what NVML writes where it does not know, and SIZE_MAX
# members that count bytes go by their names, for there are no notes on members
BYTES = re.compile(
    r"size|bytesize|num_bytes|pitch|\w+(Size|Bytes|Pitch|MemoryUsage|Mem|MemPer\w+)|used\w*Memory|bar1\w+"
)
FILLER = re.compile(r"_*(reserved|pad|internal_pad|oversize)\w*")


class Hints(NamedTuple):
    """What the API says about a number that its C type does not."""

    flags: api.Enum | None = None
    handle: bool = False
    size_bytes: bool = False
    names: api.Enum | None = None  # of an enum's values, where these have others than the enum has


NO_HINTS = Hints()


@cache
def shower(kind: api.Type, table: api.Table, hints: Hints = NO_HINTS, depth: int = DEPTH) -> Show:
    """The function that shows a value of type ``kind`` from its bytes (fewer bytes show as far as they go)."""
    own = special.find(kind)
    if own is not None:
        found = own
        return lambda raw: found(raw, table)
    if kind.kind == "struct":
        return struct(kind, table, depth)
    if kind.kind == "union":
        return union(kind, table, depth)
    if kind.kind == "array" and kind.target is not None:
        return array(kind.target, kind.count or 0, table, depth)
    return scalar(kind, hints)


def scalar(kind: api.Type, hints: Hints) -> Show:
    if kind.kind == "pointer" or (hints.handle and kind.kind in ("int", "uint")):
        return lambda raw: address(int.from_bytes(raw, "little"))
    if kind.kind == "float":
        return lambda raw: fraction(abi.number(kind, raw), kind.size)
    if kind.kind == "bool":
        return lambda raw: Decoded("true", True) if any(raw) else Decoded("false", False)
    flags = hints.flags
    if flags is not None:
        return lambda raw: flag_names(flags, int.from_bytes(raw, "little"))
    enum = kind.enum
    signed = abi.is_signed(kind)
    if enum is not None:
        return lambda raw: constant_name(enum, int.from_bytes(raw, "little", signed=signed), kind, hints.names)
    if hints.size_bytes:
        return lambda raw: byte_count(int.from_bytes(raw, "little", signed=signed))
    return lambda raw: integer(int.from_bytes(raw, "little", signed=signed))


def integer(value: int) -> Decoded:
    return Decoded(str(value), value)


def byte_count(value: int) -> Decoded:
    """1073741825 [1.00 GiB]; small numbers speak for themselves."""
    if value < 1024 or value == UNKNOWN_SIZE:
        return integer(value)
    return Decoded(f"{value} [{human(value)}]", value)


def fraction(value: float, size: int) -> Decoded:
    text = f"{value:.7g}" if size == 4 else repr(float(value))
    return Decoded(text, value if math.isfinite(value) else text)


def constant_name(enum: api.Enum, value: int, kind: api.Type, names: api.Enum | None = None) -> Decoded:
    """cudaMemcpyDeviceToHost (2); a value without a name is shown signed: -1 is what programs get wrong."""
    name = (names.name_of(value) if names is not None else None) or enum.name_of(value)
    if name is not None:
        return Decoded(f"{name} ({value})", name)
    if enum.is_bits and enum.names_of_flags(value):
        return flag_names(enum, value)
    value -= 1 << 32 if value >> 31 == 1 and kind.size == 4 else 0
    return Decoded(f"{value} (not in {kind.name})", value)


def flag_names(flags: api.Enum, value: int) -> Decoded:
    """A|B (3), with bits that have no name in hex; 0 has a name or is just 0."""
    names = flags.names_of_flags(value)
    if names is None:
        names = named_bits(flags, value)
    joined = "|".join(names)
    return Decoded(f"{joined} ({value})", joined) if joined else integer(value)


def named_bits(flags: api.Enum, value: int) -> list[str]:
    names, rest = [], value
    for bit in (1 << n for n in range(value.bit_length())):
        name = flags.name_of(bit) if value & bit else None
        if name is not None:
            names.append(name)
            rest &= ~bit
    return [*names, f"{rest:#x}"] if names else []


def struct(kind: api.Type, table: api.Table, depth: int) -> Show:
    if depth == 0:
        return lambda raw: Decoded(f"{{{ELLIPSIS}}}", ELLIPSIS)
    tag = next((field for field in kind.fields if field.name == "type" and field.type.enum is not None), None)
    members = [told(field, tag, kind, table, depth - 1) if tag is not None and field.type.kind == "union" else
               member(field, kind, table, depth - 1) for field in kind.fields]  # fmt: skip

    def show(raw: bytes) -> Decoded:
        shown = [(name, value) for name, value in (read(raw) for read in members) if value is not None]
        text = ", ".join(f"{name}={value.text}" if name else value.text for name, value in shown)
        return Decoded(f"{{{text}}}", {name or "union": value.data for name, value in shown})

    return show


Member = Callable[[bytes], tuple[str, Optional[Decoded]]]


def member(field: api.Field, kind: api.Type, table: api.Table, depth: int) -> Member:
    """Reads one member out of the bytes of the whole; None for filler that is empty."""
    name, start, end = field.name, field.offset, field.offset + field.type.size
    show = shower(field.type, table, Hints(size_bytes=counts_bytes(field, kind)), depth)
    is_filler = field.type.kind == "array" and FILLER.fullmatch(name)
    if field.bit_offset is not None:
        show = bits(show, field.bit_offset, field.bit_width or 0)

    def read(raw: bytes) -> tuple[str, Decoded | None]:
        part = raw[start:end]
        if is_filler and not any(part):
            return name, None
        return name, show(part) if part else Decoded(ELLIPSIS, ELLIPSIS)

    return read


def told(field: api.Field, tag: api.Field, kind: api.Type, table: api.Table, depth: int) -> Member:
    """A union of which the struct's ``type`` says the member: CU_GRAPH_NODE_TYPE_MEM_ALLOC is ``alloc``."""
    otherwise = member(field, kind, table, depth)
    shows = [(one.name.lower(), one.name, shower(one.type, table, NO_HINTS, depth)) for one in field.type.fields]

    def read(raw: bytes) -> tuple[str, Decoded | None]:
        value = int.from_bytes(raw[tag.offset : tag.offset + tag.type.size], "little")
        constant = (tag.type.enum.name_of(value) if tag.type.enum is not None else None) or ""
        words = constant.replace("_", "").lower()
        for end, name, show in shows:
            if words.endswith(end):
                return name, show(raw[field.offset :])
        return otherwise(raw)

    return read


def counts_bytes(field: api.Field, kind: api.Type) -> bool:
    is_wide = field.type.kind == "uint" and field.type.size == abi.WORD
    return is_wide and ("Memory" in kind.name or BYTES.fullmatch(field.name) is not None)


def bits(show: Show, offset: int, width: int) -> Show:
    def show_bits(raw: bytes) -> Decoded:
        value = int.from_bytes(raw, "little") >> offset & ((1 << width) - 1)
        return show(value.to_bytes(len(raw), "little"))

    return show_bits


def union(kind: api.Type, table: api.Table, depth: int) -> Show:
    """Who wrote it knows which member is meant, we do not: numbers are shown in every way, else the first."""
    fields = [field for field in kind.fields if not FILLER.fullmatch(field.name)] or list(kind.fields)
    if any(field.type.kind in ("struct", "union", "array") for field in fields):
        fields = fields[:1]
    members = [member(field, kind, table, depth) for field in fields]
    more = f", {ELLIPSIS}" if len(fields) < len(kind.fields) else ""

    def show(raw: bytes) -> Decoded:
        shown = [(name, value) for name, value in (read(raw) for read in members) if value is not None]
        text = ", ".join(f"{name}={value.text}" for name, value in shown)
        return Decoded(f"union {{{text}{more}}}", {name: value.data for name, value in shown})

    return show


def array(element: api.Type, count: int, table: api.Table, depth: int) -> Show:
    if element.kind == "char":
        return characters
    if element.size == 1 and element.kind == "uint":
        return binary
    show = elements(element, table, NO_HINTS, depth)
    return lambda raw: show(raw, count)


def elements(kind: api.Type, table: api.Table, hints: Hints, depth: int) -> Callable[[bytes, int], Decoded]:
    """Shows an array of ``count`` elements whose first ones are in the bytes; few if they are long."""
    show, size = shower(kind, table, hints, depth), kind.size

    def show_all(raw: bytes, count: int) -> Decoded:
        parts: list[Decoded] = []
        room = TEXT_LIMIT
        for start in range(0, min(count, ELEMENT_LIMIT, len(raw) // size) * size, size):
            if room <= 0:
                break
            parts.append(show(raw[start : start + size]))
            room -= len(parts[-1].text)
        return in_brackets(parts, count)

    return show_all


def characters(raw: bytes) -> Decoded:
    """A char array is a string, unless something in it cannot be one."""
    text = raw.partition(b"\0")[0]
    printable = text.isascii() and all(byte >= 0x20 or byte in b"\t\n\r" for byte in text)
    return quoted(text) if printable else binary(raw)
