"""What a call has written, replaced: ``total = 2G`` of cuMemGetInfo, ``memory.free = 0`` of nvmlDeviceGetMemoryInfo."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from contextlib import suppress

from gdbcuda import api
from gdbcuda.command_line.argument_types import bytes_of
from gdbcuda.errors import UserError
from gdbcuda.faults.fault_plan import FaultPlan, require_status
from gdbcuda.machine import abi
from gdbcuda.text.patterns import pattern
from gdbcuda.text.sentences import meant, some

A_STEP = r"(?:\.|->)([A-Za-z_]\w*)|\[(\d+)\]"
STEP = pattern(A_STEP)
PATH = pattern(rf"([A-Za-z_]\w*)((?:{A_STEP})*)")
WORDS = {"NULL": 0, "nullptr": 0, "false": 0, "true": 1}
FRACTIONS = {4: "<f", 8: "<d"}


def plan(function: api.Function, out: str, value: str) -> FaultPlan:
    """`UserError` where the function writes no such thing, or the value is none of its type."""
    from gdbcuda.faults.effects import Replace, Written  # machine code, which a session may never use

    require_status(function)
    index, offset, kind = place(function, out)
    raw = encoded(out, kind, value)
    (pointer,) = abi.locate(function)[index].pieces
    return FaultPlan(Replace((Written(pointer, offset, raw),)), f"{out} = {value}")


def place(function: api.Function, out: str) -> tuple[int, int, api.Type]:
    """The parameter, the bytes behind the pointer, and their type."""
    found = PATH.fullmatch(out.lstrip("*"))
    if found is None:
        raise UserError(f"{out!r} is no out-value; it is written like total, or memory.total")
    parameter = out_parameter(function, found[1])
    offset, kind = 0, target_of(function, parameter)
    for step in STEP.finditer(found[2]):
        offset, kind = inside(f"{found[1]} of {function.symbol}", offset, kind, step[1], step[2])
    return function.parameters.index(parameter), offset, kind


def outs(function: api.Function) -> list[api.Parameter]:
    """The parameters through which it writes something of a known type."""
    return [one for one in function.parameters if one.direction != "in" and is_known(one.type.target)]


def is_known(kind: api.Type | None) -> bool:
    return kind is not None and kind.kind not in ("void", "function") and not kind.incomplete


def out_parameter(function: api.Function, name: str) -> api.Parameter:
    known = {one.name: one for one in outs(function)}
    if name in known:
        return known[name]
    unknown = " whose type is known" if any(one.type.kind == "pointer" for one in function.parameters) else ""
    there = f"; it writes {some([*known])}" if known else f"; it writes nothing{unknown}"
    raise UserError(f"{function.symbol} does not write {name!r}{meant(name, known) or there}")


def target_of(function: api.Function, parameter: api.Parameter) -> api.Type:
    kind = parameter.type.target
    assert kind is not None
    if parameter.string or kind.kind == "char":
        raise UserError(f"{parameter.name} of {function.symbol} is text; a number, a pointer or an enum can be set")
    return kind


def inside(what: str, offset: int, kind: api.Type, member: str | None, index: str | None) -> tuple[int, api.Type]:
    if index is not None:
        if kind.kind != "array" or kind.target is None or int(index) >= (kind.count or 0):
            raise UserError(f"there is no [{index}] in {what}: it is {kind.spelling}")
        return offset + int(index) * kind.target.size, kind.target
    members = {one.name: one for one in fields(kind)}
    found = members.get(member or "")
    if found is None:
        has = f"; it has {some([*members])}" if members else ""
        raise UserError(f"{kind.name}, {what}, has no member {member!r}{meant(member or '', members) or has}")
    if found.bit_offset is not None:
        raise UserError(f"{member} of {kind.name} is a bit field")
    return offset + found.offset, found.type


def fields(kind: api.Type) -> Iterable[api.Field]:
    """Those of anonymous structs and unions among them."""
    for one in kind.fields if kind.kind in ("struct", "union") else ():
        if one.name:
            yield one
        else:
            yield from (inner._replace(offset=one.offset + inner.offset) for inner in fields(one.type))


def encoded(out: str, kind: api.Type, value: str) -> bytes:
    if kind.kind in ("struct", "union", "array"):
        members = [one.name for one in fields(kind)]
        like = f"one of its members can be set: {some(members)}" if members else f"one element can be set, as {out}[0]"
        article = "an" if kind.kind == "array" else "a"
        raise UserError(f"{out} is {article} {kind.kind} ({kind.name}); {like}")
    if kind.kind == "float" and kind.size in FRACTIONS:
        return struct.pack(FRACTIONS[kind.size], fraction(out, value))
    number, size = whole(out, kind, value), kind.size
    if size not in (1, 2, 4, 8) or not -(1 << 8 * size - 1) <= number < 1 << 8 * size:
        raise UserError(f"{value} does not fit into the {size} bytes of {out} ({kind.spelling})")
    return (number & (1 << 8 * size) - 1).to_bytes(size, "little")


def whole(out: str, kind: api.Type, value: str) -> int:
    names = {**WORDS, **(kind.enum.values if kind.enum is not None else {})}
    if value in names:
        return names[value]
    is_negative = value.startswith("-")
    try:
        number = bytes_of(value[is_negative:])
    except ValueError:
        takes = meant(value, names) or f", which takes {wanted(kind)}"
        raise UserError(f"{value!r} is no value for {out} ({kind.spelling}){takes}") from None
    return -number if is_negative else number


def wanted(kind: api.Type) -> str:
    if kind.enum is not None:
        return f"a number or a constant: {some([*kind.enum.values], 4)}"
    return "an address or NULL" if kind.kind == "pointer" else "a number, or a size like 2G"


def fraction(out: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UserError(f"{value!r} is no value for {out}, which takes a number like 1.5") from None


# -- what Tab offers


def complete_outs(functions: Iterable[api.Function]) -> Iterable[str]:
    for function in functions:
        for one in outs(function):
            yield one.name
            yield from (f"{one.name}.{field.name}" for field in fields(one.type.target or one.type))


def complete_values(functions: Iterable[api.Function], out: str) -> Iterable[str]:
    """Constants of the type, where it is an enum."""
    for function in functions:
        with suppress(UserError):
            kind = place(function, out)[2]
            yield from kind.enum.values if kind.enum is not None else ("NULL",)
