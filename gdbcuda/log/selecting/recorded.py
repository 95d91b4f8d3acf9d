"""Arguments of a recorded call as the numbers and bytes that they were, out of what `gdbcuda.decode` has made of them.

What a log does not have (elements that were cut off, a value that nobody could read) is not there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.condition.to_python import RecordedText, Value
from gdbcuda.decode.value_text import ELLIPSIS
from gdbcuda.errors import Unreadable
from gdbcuda.memory import DictMemory

Piece = tuple[int, bytes]  # offset or address, and what is there
FRACTIONS = {4: "<f", 8: "<d"}


def values(call: Call, function: api.Function, names: Mapping[str, int], table: api.Table) -> dict[str, Value]:
    """Of the parameters ``names``, as a condition wants them; `Unreadable` for one that the log does not have."""
    found: dict[str, Value] = {}
    for name, index in names.items():
        if name not in call.arguments:
            raise Unreadable(0)
        data, parameter = call.arguments[name], function.parameters[index]
        is_text = parameter.string and isinstance(data, str) and (name in call.addresses or not data.startswith("0x"))
        found[name] = RecordedText(data, call.addresses.get(name)) if is_text else number(parameter.type, data, table)
    return found


def number(kind: api.Type, data: Any, table: api.Table) -> int | float:
    """The number that the bytes of a value make."""
    if kind.kind == "float":
        return float(data)
    if kind.kind in ("struct", "union", "array"):
        raw = bytearray(kind.size)
        for at, part in pieces(kind, data, table):
            raw[at : at + len(part)] = part
        return int.from_bytes(raw, "little")
    return integer(data, table)


def integer(data: Any, table: api.Table) -> int:
    """42, true, NULL, "0x7f00", {"address": "0x7f00"}, "CU_EVENT_DISABLE_TIMING|0x8": what is left is unknown."""
    if data is None:
        return 0
    if isinstance(data, int):
        return int(data)
    if isinstance(data, dict) and "address" in data:
        return integer(data["address"], table)
    if not isinstance(data, str):
        raise Unreadable(0)
    found = 0
    for word in data.split("|"):
        known = int(word, 16) if word.startswith("0x") else table.constant(word)
        if known is None:
            raise Unreadable(0)
        found |= known
    return found


def memory(call: Call, function: api.Function, table: api.Table) -> DictMemory:
    """What the arguments pointed to when the call began."""
    found: dict[int, bytes] = {}
    for parameter in function.parameters:
        data, kind = call.arguments.get(parameter.name), parameter.type
        if isinstance(data, dict) and "value" in data and kind.target is not None:
            start = integer(data, table)
            behind = data["value"] if isinstance(data["value"], list) else [data["value"]]
            found.update((start + at, raw) for at, raw in elements(kind.target, behind, table))
        elif isinstance(data, str) and parameter.name in call.addresses:
            is_whole = not data.endswith(ELLIPSIS)
            found[call.addresses[parameter.name]] = data.encode() + b"\0" if is_whole else data[:-1].encode()
    return DictMemory(found)


def elements(kind: api.Type, data: list[Any], table: api.Table) -> Iterator[Piece]:
    for i, one in enumerate(data):
        for at, raw in pieces(kind, one, table):
            yield i * kind.size + at, raw


def pieces(kind: api.Type, data: Any, table: api.Table) -> Iterator[Piece]:
    """The bytes of a value, as far as they are known."""
    if kind.kind in ("struct", "union") and isinstance(data, dict):
        for field in kind.fields:
            inner = data.get(field.name or "union", data if field.type.kind == "union" else None)
            if inner is not None or field.name in data:
                yield from ((field.offset + at, raw) for at, raw in pieces(field.type, inner, table))
    elif kind.kind == "array" and kind.target is not None and isinstance(data, list):
        yield from elements(kind.target, data, table)
    elif kind.kind not in ("struct", "union", "array"):
        yield from scalar(kind, data, table)


def scalar(kind: api.Type, data: Any, table: api.Table) -> Iterator[Piece]:
    try:
        value = number(kind, data, table)
    except (Unreadable, TypeError, ValueError):
        return
    if kind.kind == "float":
        yield 0, struct.pack(FRACTIONS[kind.size], value)
    else:
        yield 0, (int(value) & ((1 << 8 * kind.size) - 1)).to_bytes(kind.size, "little")
