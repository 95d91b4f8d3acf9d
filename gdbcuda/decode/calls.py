"""The arguments of one call, decoded; what can be prepared for a function is prepared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from gdbcuda import api
from gdbcuda.decode.pointers import Moment, pointer
from gdbcuda.decode.value_text import Decoded
from gdbcuda.decode.values import Hints, shower
from gdbcuda.errors import Unreadable
from gdbcuda.machine import abi
from gdbcuda.memory import DictMemory, Memory

UNKNOWN = Decoded("(not known here)", None)
Show = Callable[[bytes, Moment], Decoded]
PLAIN, MOST_REMEMBERED = ("int", "uint", "char", "enum", "float"), 4096
NOWHERE = Moment(DictMemory({}), False, False, lambda name: None)


class DecodedArgument(NamedTuple):
    """One decoded argument. ``raw``: its value, where it is an integer, an enum or a pointer."""

    name: str
    type_name: str
    text: str
    data: Any
    raw: int | None


class Step(NamedTuple):
    """``known``: the argument by its bytes, where they are all there is to it; many calls have the same."""

    name: str
    type_name: str
    kind: api.Type
    show: Show
    known: Callable[[bytes], DecodedArgument] | None = None


@cache
def steps(function: api.Function, table: api.Table) -> tuple[Step, ...]:
    """What there is to do for each parameter of a function."""
    return tuple(step(parameter, table) for parameter in function.parameters)


def step(parameter: api.Parameter, table: api.Table) -> Step:
    found = Step(parameter.name, parameter.type.spelling, parameter.type, show(parameter, table))
    return found._replace(known=remembered(found)) if parameter.type.kind in PLAIN else found


def remembered(step: Step) -> Callable[[bytes], DecodedArgument]:
    return lru_cache(maxsize=MOST_REMEMBERED)(lambda raw: shown(step, raw, NOWHERE))


@cache
def show(parameter: api.Parameter, table: api.Table) -> Show:
    flags = table.flags(parameter.flags) if parameter.flags else None
    names = table.flags(parameter.named) if parameter.named else None
    hints = Hints(flags, parameter.handle, parameter.size_bytes, names)
    if parameter.type.kind == "pointer":
        behind = pointer(parameter, table, hints)
        return lambda raw, moment: behind(int.from_bytes(raw[: abi.WORD], "little"), moment)
    plain = shower(parameter.type, table, hints)
    return lambda raw, moment: plain(raw)


@cache
def strings(function: api.Function) -> frozenset[str]:
    """The parameters whose data is their text."""
    return frozenset(parameter.name for parameter in function.parameters if parameter.string)


def decode(
    function: api.Function, raws: Sequence[bytes | None], table: api.Table, moment: Moment
) -> list[DecodedArgument]:
    return [argument(step, raw, moment) for step, raw in zip(steps(function, table), raws)]


def argument(step: Step, raw: bytes | None, moment: Moment) -> DecodedArgument:
    return shown(step, raw, moment) if step.known is None or raw is None else step.known(raw)


def shown(step: Step, raw: bytes | None, moment: Moment) -> DecodedArgument:
    text, data = UNKNOWN if raw is None else step.show(raw, moment)
    return DecodedArgument(step.name, step.type_name, text, data, whole(step.kind, raw))


def whole(kind: api.Type, raw: bytes | None) -> int | None:
    if raw is None or kind.kind in ("struct", "union", "float"):
        return None
    return int(abi.number(kind, raw))


def lengths(function: api.Function, raws: Sequence[bytes | None], memory: Memory) -> Callable[[str], int | None]:
    """Looks a length up: a number, a sibling's value, or the number that a sibling points to."""

    def length(name: str) -> int | None:
        if name.isdigit():
            return int(name)
        at = next((at for at, one in enumerate(function.parameters) if one.name == name), len(raws))
        raw = raws[at] if at < len(raws) else None
        if raw is None:
            return None
        try:
            return max(count(function.parameters[at].type, raw, memory), 0)
        except Unreadable:
            return None

    return length


def count(kind: api.Type, raw: bytes, memory: Memory) -> int:
    target = kind.target
    if kind.kind == "pointer" and target is not None:
        raw = memory.read(int.from_bytes(raw, "little"), min(target.size, abi.WORD))
        kind = target
    return int(abi.number(kind, raw))


def given(siblings: Mapping[str, int]) -> Callable[[str], int | None]:
    """The same from numbers that are known already."""
    return lambda name: int(name) if name.isdigit() else siblings.get(name)
