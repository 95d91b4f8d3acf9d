"""Why a name means nothing in a condition, and what was meant."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from gdbcuda import api
from gdbcuda.condition.grammar import parser, syntax
from gdbcuda.errors import UserError

SHORTEST = 3  # letters say nothing as a part of a name
RESULTS = ("result", "error")
ON_ENTRY = "a condition is looked at when the function is entered"


def unknown(node: syntax.Name, function: api.Function, table: api.Table) -> UserError:
    name = node.name
    if name in RESULTS:
        return UserError(f"{ON_ENTRY}: there is no {name} yet (--on error stops at an error)")
    if name in parser.USAGE:
        return parser.misused(node.column, name)
    parameters = [parameter.name for parameter in function.parameters]
    names = ", ".join(parameters)
    has = f'has no parameter "{name}"; it has {names}' if names else f'has no parameters, so no "{name}"'
    meant = alike(name, parameters) or alike(name, own_constants(function, table)) or nearest_constants(name, table)
    return UserError(f"{function.symbol} {has}" + (f"; did you mean {' or '.join(meant)}?" if meant else ""))


def alike(name: str, names: Iterable[str]) -> list[str]:
    """At most two that may be meant: the name is their beginning or end, as DeviceToHost is, or they look like it."""
    from difflib import get_close_matches  # only for an error message, and slow to import

    by_lower = {one.lower(): one for one in names}
    part = name.lower() if len(name) > SHORTEST else "?"
    longer = [one for lower, one in by_lower.items() if lower.startswith(part) or lower.endswith(part)]
    return (longer or [by_lower[lower] for lower in get_close_matches(name.lower(), by_lower, 2, 0.75)])[:2]


def own_constants(function: api.Function, table: api.Table) -> list[str]:
    """Of the parameters' enums and flags."""
    flags = [table.flags(one.flags) for one in function.parameters if one.flags]
    enums = [one.type.enum for one in function.parameters]
    return [name for enum in (*enums, *flags) if enum is not None for name in enum.values]


@cache  # a glob asks once for each of some hundred functions
def nearest_constants(name: str, table: api.Table) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, [*table.constants], 2, 0.85)
