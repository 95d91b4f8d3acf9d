"""Parameters that are pointers: when there is something to see behind them, and what."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Optional

from gdbcuda import api
from gdbcuda.decode import special
from gdbcuda.decode.value_text import ELEMENT_LIMIT, STRING_LIMIT, Decoded, address, binary, quoted
from gdbcuda.decode.values import DEPTH, Hints, elements, shower
from gdbcuda.errors import NotRecorded, Unreadable
from gdbcuda.memory import Memory, read_string

STRUCT_LIMIT = 16 << 10  # bytes that are read of a struct; the API's largest have 100 KB, of arrays
NOT_YET, NOT_WRITTEN = "(not written yet)", "(not written)"
UNREADABLE, NOT_RECORDED = "(unreadable)", "(not recorded)"


class Moment(NamedTuple):
    """When and where a call is looked at. ``value_of`` asks a sibling that is an array's length.

    ``is_live``: the memory is the program's own, so what cannot be read there the callee cannot write either."""

    memory: Memory
    is_return: bool
    succeeded: bool
    value_of: Callable[[str], int | None]
    is_live: bool = False

    @property
    def is_written(self) -> bool:
        return self.is_return and self.succeeded


# what is at an address; None where only the address is worth showing
Content = Callable[[int, Moment], Optional[Decoded]]
Show = Callable[[int, Moment], Decoded]


def pointer(parameter: api.Parameter, table: api.Table, hints: Hints) -> Show:
    """The function that shows a pointer parameter from its value."""
    own = special.find(parameter.type)
    if own is not None:
        found = own
        return lambda value, moment: found(value.to_bytes(8, "little"), table)
    if parameter.direction == "in" and parameter.string and parameter.length is None:
        return string
    look = content(parameter, table, hints)
    if parameter.direction == "out":
        return out(look)
    return lambda value, moment: behind(value, look, moment)


def out(look: Content) -> Show:
    def show(value: int, moment: Moment) -> Decoded:
        if value and not moment.is_written:
            if moment.is_live and not is_readable(value, moment.memory):
                return unreadable(value)
            return Decoded(f"{value:#x} -> {NOT_WRITTEN if moment.is_return else NOT_YET}", {"address": f"{value:#x}"})
        return behind(value, look, moment)

    return show


def behind(value: int, look: Content, moment: Moment) -> Decoded:
    """0x7ffe0c58 -> 4096; the address alone where there is nothing to see, NULL for no address."""
    if not value:
        return address(0)
    at = f"{value:#x}"
    try:
        found = look(value, moment)
    except Unreadable as problem:
        return unreadable(value, problem)
    return Decoded(f"{at} -> {found.text}", {"address": at, "value": found.data}) if found else address(value)


def string(value: int, moment: Moment) -> Decoded:
    """A NUL-terminated string is shown instead of its address."""
    if not value:
        return address(0)
    try:
        return text_at(value, moment.memory)
    except Unreadable as problem:
        return unreadable(value, problem)


def unreadable(value: int, problem: Unreadable | None = None) -> Decoded:
    """Of what is not recorded, "unreadable" is not known: None."""
    is_left_out = isinstance(problem, NotRecorded)
    data = {"address": f"{value:#x}", "unreadable": None if is_left_out else True}
    return Decoded(f"{value:#x} -> {NOT_RECORDED if is_left_out else UNREADABLE}", data)


def is_readable(value: int, memory: Memory) -> bool:
    try:
        memory.read(value, 1)
    except Unreadable:
        return False
    return True


def text_at(value: int, memory: Memory, limit: int = STRING_LIMIT) -> Decoded:
    raw, is_whole = read_string(memory, value, min(limit, STRING_LIMIT))
    return quoted(raw, is_whole or len(raw) == limit < STRING_LIMIT)


def content(parameter: api.Parameter, table: api.Table, hints: Hints) -> Content:
    target, length = parameter.type.target, parameter.length
    if target is None or target.kind == "function" or target.incomplete:
        return nothing
    if parameter.string:
        return string_behind if target.kind == "pointer" else buffer(length)
    if length is not None:
        in_bytes = parameter.length_unit == "bytes"
        return block(length) if target.size <= 1 else several(target, table, hints, length, in_bytes)
    if target.kind in ("void", "char") or (target.kind == "pointer" and parameter.direction == "in"):
        return nothing  # what it is or how many of them there are, only the callee knows
    if target.kind == "pointer" and target.target is not None and target.target.kind == "char":
        return string_behind
    return one(target, table, hints)


def nothing(value: int, moment: Moment) -> None:
    return None


def one(target: api.Type, table: api.Table, hints: Hints) -> Content:
    show, size = shower(target, table, hints), min(target.size, STRUCT_LIMIT)
    return lambda value, moment: show(moment.memory.read(value, size))


def several(target: api.Type, table: api.Table, hints: Hints, length: str, in_bytes: bool) -> Content:
    """An array; its length is a sibling's value, in elements or in bytes."""
    show = elements(target, table, hints, DEPTH)

    def look(value: int, moment: Moment) -> Decoded | None:
        count = moment.value_of(length)
        if count is None:
            return None
        count = count // target.size if in_bytes else count
        return show(moment.memory.read(value, min(count, ELEMENT_LIMIT) * target.size), count)

    return look


def block(length: str) -> Content:
    """Bytes of any meaning."""

    def look(value: int, moment: Moment) -> Decoded | None:
        count = moment.value_of(length)
        return None if count is None else binary(moment.memory.read(value, min(count, ELEMENT_LIMIT)), count)

    return look


def buffer(length: str | None) -> Content:
    """A string in a buffer of limited size."""

    def look(value: int, moment: Moment) -> Decoded:
        limit = moment.value_of(length) if length is not None else None
        return text_at(value, moment.memory, STRING_LIMIT if limit is None else limit)

    return look


def string_behind(value: int, moment: Moment) -> Decoded:
    """A pointer to where the API puts the address of a string of its own."""
    at = int.from_bytes(moment.memory.read(value, 8), "little")
    return string(at, moment)
