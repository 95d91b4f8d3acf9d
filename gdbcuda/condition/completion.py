"""What may stand where somebody is typing a condition: parameters, members, constants and words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gdbcuda import api
from gdbcuda.condition.grammar.parser import USAGE
from gdbcuda.condition.pointees import fields

UNFINISHED = re.compile(r"(?:(\w+)((?:\[\d+\])?(?:->|\.))((?:\w+(?:\[\d+\])?\.)*))?(\w*)$")
COMPARED = re.compile(r"(\w+)\s*(?:==|!=|&)\s*\w*$")
FEWEST = 3  # letters before a constant is offered: there are some thousands


def complete(text: str, functions: Sequence[api.Function], table: api.Table) -> list[str]:
    """The endings of the last name in ``text``, each as the name from its first letter on."""
    found = UNFINISHED.search(text)
    assert found is not None
    base, _, members, begun = found.groups()
    if base is not None:
        return [f"{text[found.start() : found.start(4)]}{name}" for name in members_of(base, members, functions, begun)]
    constants = constants_for(text, functions, table)
    if constants:
        return sorted(name for name in constants if name.startswith(begun))
    names = {parameter.name for function in functions for parameter in function.parameters} | {*USAGE, "NULL"}
    offered = [*names, *(table.constants if len(begun) >= FEWEST else ())]
    return sorted(name for name in offered if name.startswith(begun))


def constants_for(text: str, functions: Iterable[api.Function], table: api.Table) -> set[str]:
    """Where the name is compared with a parameter: that one's enum constants or flags."""
    found = COMPARED.search(text)
    parameters = [function.parameter(found.group(1)) for function in functions] if found else []
    enums = [one.type.enum or (table.flags(one.flags) if one.flags else None) for one in parameters if one is not None]
    return {name for enum in enums if enum is not None for name in enum.values}


def members_of(base: str, members: str, functions: Iterable[api.Function], begun: str) -> list[str]:
    steps = re.findall(r"\w+(?=\.|\[)", members)
    kinds = [kind for function in functions for kind in types_of(base, function)]
    for step in steps:
        kinds = [element(field.type) for kind in kinds for name, field in fields(kind) if name == step]
    return sorted({name for kind in kinds for name, _ in fields(kind) if name.startswith(begun)})


def types_of(name: str, function: api.Function) -> Iterator[api.Type]:
    parameter = function.parameter(name)
    if parameter is not None and parameter.direction != "out":
        yield element(parameter.type)


def element(kind: api.Type) -> api.Type:
    """What it points to, or consists of."""
    return kind.target if kind.kind in ("pointer", "array") and kind.target is not None else kind
